import type { Command } from 'commander';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { reasonOf } from '../../base/user-error';
import { loadSettings } from '../../record/settings';
import { metricNames } from '../../report/rules/metric-names';
import { parseRules } from '../../report/rules/rule';
import { loadRules } from '../../report/rules/rule-set';
import { renderFacts, renderRules, renderRulesCsv, renderRulesJson } from '../../report/rules/rule-list';
import { SHIPPED_RULES } from '../../report/rules/shipped';
import { commandAction, type CommandContext, CommandError, type GlobalOptions, EXIT } from '../command';
import { outputFormat, screenOf, warn, writeLines } from '../output';
import type { Terminal } from '../terminal';

interface RulesOptions extends GlobalOptions {
  readonly check?: string;
  readonly fields?: boolean;
  readonly toml?: boolean;
}

/** `qmemacct rules` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--check <file>', 'check a file of rules, and change nothing')
    .option('--fields', 'list the fields that rules can name; "qmemacct metrics" lists the metrics')
    .option('--toml', 'print the shipped rules as their file, to copy from')
    .action(commandAction<RulesOptions>(context, showRules));
}

function checkFile(path: string, terminal: Terminal): number {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new CommandError(`${path}: can't be read (${reasonOf(error)})`, EXIT.unavailable);
  }
  const parsed = parseRules(text, metricNames());
  if (!parsed.ok) {
    parsed.error.forEach((problem) => warn(terminal, `${path}: ${problem}`));
    return EXIT.usage;
  }
  const shipped = parseRules(SHIPPED_RULES);
  const known = new Set(shipped.ok ? shipped.value.rules.map(({ name }) => name) : []);
  const { rules, off } = parsed.value;
  const screen = screenOf(terminal, { color: false });
  const of = (name: string): string => (known.has(name) ? 'in place of the shipped rule' : 'a rule of your own');
  writeLines(terminal, [
    ...rules.map(({ name }) => `${name}: ${of(name)}`),
    ...off.map(
      (name) => `${screen.safe(name)}: ${known.has(name) ? 'switched off' : 'off, and there is no such rule'}`,
    ),
    `${screen.safe(path)} is right: rules_file = ${JSON.stringify(resolve(path))} in the configuration puts it in force`,
  ]);
  return EXIT.found;
}

/** Lists or checks rules; resolves to the exit status. Rejects with CommandError or SettingsError. */
async function showRules(options: RulesOptions, terminal: Terminal): Promise<number> {
  const format = outputFormat(options);
  if (options.check !== undefined) return checkFile(options.check, terminal);
  if (options.toml) {
    terminal.write(SHIPPED_RULES.trimStart());
    return EXIT.found;
  }
  const screen = screenOf(terminal, options);
  if (options.fields) {
    writeLines(terminal, renderFacts(screen));
    return EXIT.found;
  }
  const rules = await loadRules(loadSettings(options.config).rules_file);
  if (rules.problem !== null) warn(terminal, rules.problem);
  if (format === 'json') terminal.write(renderRulesJson(rules));
  else if (format === 'csv') terminal.write(renderRulesCsv(rules));
  else writeLines(terminal, renderRules(rules, screen));
  return EXIT.found;
}
