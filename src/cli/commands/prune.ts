import type { Command } from 'commander';
import type { HistoryStore, LongWork, Pruned, Retention } from '../../accounting/history-store';
import { isoDay } from '../../accounting/sums/periods';
import { firstKept } from '../../accounting/upkeep';
import { loadSettings, type Settings } from '../../record/settings';
import { formatBytes, formatCount } from '../../report/format/units';
import { commandAction, type CommandContext, type GlobalOptions, EXIT } from '../command';
import { retentionOf, workOnHistory } from '../stores/maintenance';
import type { Terminal } from '../terminal';
import { textOrJson, warn, writeAnswer } from '../output';

interface PruneOptions extends GlobalOptions {
  readonly dryRun?: boolean;
}

/** `qmemacct prune` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--dry-run', 'only show how many records are old enough')
    .action(commandAction<PruneOptions>(context, prune));
}

const NAMES: readonly (readonly [keyof Retention, string])[] = [
  ['records', 'records'],
  ['series', 'charts'],
  ['rollups', "days' sums"],
];

function describeRules(rules: Retention, now: Date): readonly string[] {
  return NAMES.map(([key, name]) => {
    const first = firstKept(rules[key], now.getTime());
    return first === null
      ? `${name} are kept for ever`
      : `${name} older than ${formatCount(rules[key])} days go: those before ${isoDay(first)} UTC`;
  });
}

function describePruned({ records, series, rollups, freed }: Pruned): string {
  const parts = [
    `${formatCount(records)} records`,
    `${formatCount(series)} charts`,
    `${formatCount(rollups)} days' sums`,
  ];
  return `${parts.join(', ')} removed${freed > 0 ? `, ${formatBytes(freed)} given back` : ''}`;
}

/** `prune`; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function prune(
  options: PruneOptions,
  terminal: Terminal,
  open?: (settings: Settings) => Promise<HistoryStore>,
): Promise<number> {
  const format = textOrJson(options, 'prune');
  const settings = loadSettings(options.config);
  const rules = retentionOf(settings);
  const now = terminal.now();
  if (options.dryRun) {
    const count = (store: HistoryStore): Promise<number> => store.countOld(rules, now.getTime());
    const { result: records } = await workOnHistory(settings, terminal, 'prune', count, open);
    const says = [...describeRules(rules, now), `${formatCount(records)} records would go`];
    writeAnswer(terminal, format, { dry_run: true, records }, says);
    return EXIT.found;
  }
  const remove = (store: HistoryStore, how: LongWork): Promise<Pruned> => store.prune(rules, now.getTime(), how);
  const { result: pruned } = await workOnHistory(settings, terminal, 'prune', remove, open);
  writeAnswer(terminal, format, pruned, [describePruned(pruned)]);
  if (pruned.complete) return EXIT.found;
  warn(terminal, 'interrupted: the next run removes the rest');
  return EXIT.unavailable;
}
