import { Command, CommanderError } from 'commander';
import { requireNamedSettings, SETTINGS_FILE } from '../record/settings';
import { UserError } from '../base/user-error';
import { EXIT, usageError } from './command';
import type { CommandContext, GlobalOptions, LiveParts } from './command';
import type { NamedSubject } from './records/subject';
import { warn } from './output';
import type { Terminal } from './terminal';

/** A command's own file: its arguments, options and action. */
interface CommandModule {
  readonly register: (command: Command, context: CommandContext) => void;
}

/** `load` imports the file; called only for the command that is run, so that the program starts quickly. */
type CommandEntry = readonly [name: string, description: string, load: () => Promise<CommandModule>];

const subject = async (name: NamedSubject): Promise<CommandModule> =>
  (await import('./commands/records.js')).registerSubject(name);

/** The commands, by their headings in the help. */
const COMMANDS: Readonly<Record<string, readonly CommandEntry[]>> = {
  'Your jobs:': [
    ['job', 'what a job requested and used, and what to request next', () => import('./commands/job.js')],
    ['owner', "a user's jobs, one line each (default: yours)", () => subject('owner')],
    ['live', 'running jobs: memory used, and when they reach their limit', () => import('./commands/live.js')],
    ['advise', 'what to request, from past runs, with the risk', () => import('./commands/advise.js')],
    ['web', 'a link that opens the web pages as you', () => import('./commands/web.js')],
    ['digest', 'your daily mail about your jobs: on or off', () => import('./commands/digest.js')],
  ],
  'All jobs:': [
    ['jobs', 'the jobs that match every filter given', () => import('./commands/records.js')],
    ['project', "a project's jobs, one line each", () => subject('project')],
    ['queue', 'the jobs that ran in a queue, one line each', () => subject('queue')],
    ['host', 'the jobs that ran on a host, one line each', () => subject('host')],
    ['top', 'rank users, projects, queues, hosts or job names', () => import('./commands/top.js')],
    ['report', 'efficiency report: unused memory, failed jobs, advice', () => import('./commands/report.js')],
    ['replay', 'what advised requests would have saved, and their failures', () => import('./commands/replay.js')],
    ['rules', 'the rules that put jobs into classes', () => import('./commands/rules.js')],
  ],
  'Hosts:': [
    ['hosts', "every host's memory (used, requested, free), slots, jobs", () => import('./commands/hosts.js')],
    ['nodes', 'the state of qmemacct on every host', () => import('./commands/nodes.js')],
    ['node', 'this host over time: load, memory, processes (root only)', () => import('./commands/node.js')],
    ['metrics', 'everything that can be measured, with unit and source', () => import('./commands/metrics.js')],
  ],
  'Without Grid Engine:': [
    ['run', 'measure a command or a running process', () => import('./commands/run.js')],
    ['demo', 'run three small jobs and show their reports', () => import('./commands/demo.js')],
  ],
  'Files:': [
    ['import', "read Grid Engine's accounting files", () => import('./commands/import.js')],
    ['export', 'write records, series or samples to a file', () => import('./commands/export.js')],
  ],
  'Administration:': [
    ['install', 'install on this host (--node), or set up the hooks', () => import('./commands/install.js')],
    ['uninstall', 'remove the hooks, or the program from this host (--node)', () => import('./commands/uninstall.js')],
    ['doctor', 'what this host can measure, what is wrong, how to fix it', () => import('./commands/doctor.js')],
    ['serve', 'serve live data and the accounting DB (HTTP, unix socket)', () => import('./commands/serve.js')],
    ['nightly', 'import, sum up, prune, report and mail, once a night', () => import('./commands/nightly.js')],
    ['flush', 'finish interrupted runs here, deliver waiting records', () => import('./commands/flush.js')],
    ['rollup', 'update the sums that reports are made from', () => import('./commands/rollup.js')],
    ['prune', 'remove what is older than keep_records_days and the like', () => import('./commands/prune.js')],
    ['backup', 'copy the SQLite accounting DB while it is in use', () => import('./commands/backup.js')],
    ['settle', "move delivered records from PostgreSQL's inbox to its table", () => import('./commands/settle.js')],
    ['database', 'create or upgrade an accounting DB in PostgreSQL', () => import('./commands/database.js')],
    ['migrate', 'copy an SQLite accounting DB to PostgreSQL', () => import('./commands/migrate.js')],
  ],
  'Shell:': [
    ['completion', 'print the completion script of a shell', () => import('./commands/completion.js')],
    ['man', 'print the manual page: qmemacct man | man -l -', () => import('./commands/man.js')],
  ],
};

/** Commands that finish the change they have begun, even if nobody reads their output any more. */
const CHANGING: ReadonlySet<string | undefined> = new Set([
  'install',
  'uninstall',
  'nightly',
  'flush',
  'rollup',
  'prune',
  'backup',
  'settle',
  'database',
  'migrate',
  'import',
  'digest',
]);

/** Whether a command line runs one of the commands that change something. */
export const isChange = (words: readonly string[]): boolean => CHANGING.has(commandWord(words));

/** Commands whose output describes every command. */
const WHOLE: ReadonlySet<string | undefined> = new Set(['completion', 'man']);

/** The program with all commands' names; only the command in `words` is loaded, or all if it describes them. */
export async function createProgram(words: readonly string[], context: CommandContext): Promise<Command> {
  const { terminal, version } = context;
  const program = new Command('qmemacct')
    .description('Memory and efficiency of Grid Engine jobs: what they used of what they requested.')
    .version(version)
    .option('--config <file>', 'configuration', SETTINGS_FILE)
    .option('--json', 'print JSON (schema 1)')
    .option('--csv', 'print CSV')
    .option('--no-color', 'no colours (also NO_COLOR; without a terminal only FORCE_COLOR brings them)')
    .option('--debug', 'show a stack trace on errors')
    .exitOverride()
    .hook('preAction', (_program, command) => {
      refuseEmpty(command);
      requireConfiguration(command);
    })
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeOut: terminal.write,
      writeErr: (text) => terminal.warn(text.replace(/\n$/, '')),
      outputError: (text, write) =>
        write(
          `${text
            .trimEnd()
            .replace(/^error: /, 'qmemacct: ')
            .replaceAll('\n', ' ')}; see --help\n`,
        ),
    });
  const named = commandWord(words);
  for (const [heading, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading);
    for (const [name, description, load] of commands) {
      const command = program.command(name).description(description);
      if (name === named || WHOLE.has(named)) (await load()).register(command, context);
    }
  }
  program.helpCommand(true);
  return program;
}

/** Throws a usage error for an empty word, as from an unset shell variable: it would be looked up as a name. */
function refuseEmpty(command: Command): void {
  const given = command.optsWithGlobals<Readonly<Record<string, unknown>>>();
  const option = [...command.options, ...(command.parent?.options ?? [])].find(
    (one) => given[one.attributeName()] === '',
  );
  if (option !== undefined)
    throw usageError(`${option.long ?? option.flags}: an empty word; write a value, or leave the option out`);
  if (command.args[0] === '') throw usageError(`${command.name()}: an empty word; write a value`);
}

/** Throws if --config (also `run`'s own) names a missing file; not with --node, which may make or have removed it. */
function requireConfiguration(command: Command): void {
  const { config, node } = { ...command.optsWithGlobals(), ...command.opts<GlobalOptions & { node?: boolean }>() };
  if (node !== true) requireNamedSettings(config);
}

/** The command's name: the first word that is no option; --config is the only global option with a value. */
function commandWord(words: readonly string[]): string | undefined {
  return words.find((word, index) => !word.startsWith('-') && word !== 'help' && words[index - 1] !== '--config');
}

/** Runs a command line (without node and script); resolves to the exit status, never rejects. */
export async function runProgram(
  words: readonly string[],
  version: string,
  terminal: Terminal,
  live: LiveParts = {},
): Promise<number> {
  let status: number = EXIT.found;
  const program = await createProgram(words, {
    terminal,
    version,
    live,
    finish: async (result) => {
      status = await result;
    },
  });
  try {
    // `run` has its own `--csv FILE`, which the global `--csv` would capture: all options after "run" are its own.
    program.enablePositionalOptions(commandWord(words) === 'run');
    await program.parseAsync(words, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.found : EXIT.usage;
    const { debug } = program.opts<{ debug?: boolean }>();
    const known = error instanceof UserError;
    warn(terminal, error instanceof Error ? ((debug ? error.stack : null) ?? error.message) : String(error));
    if (!known && !debug) warn(terminal, 'this is a bug; --debug shows where it came from');
    return known ? error.status : EXIT.unavailable;
  }
}
