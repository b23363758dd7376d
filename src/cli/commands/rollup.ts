import type { Command } from 'commander';
import type { HistoryStore, LongWork } from '../../accounting/history-store';
import { loadSettings, type Settings } from '../../record/settings';
import { formatCount } from '../../report/format/units';
import { commandAction, type CommandContext, type GlobalOptions, EXIT } from '../command';
import { workOnHistory } from '../stores/maintenance';
import type { Terminal } from '../terminal';
import { textOrJson, warn, writeAnswer } from '../output';

/** `qmemacct rollup` */
export function register(command: Command, context: CommandContext): void {
  command.action(commandAction<GlobalOptions>(context, rollup));
}

/** `rollup`; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function rollup(
  options: GlobalOptions,
  terminal: Terminal,
  open?: (settings: Settings) => Promise<HistoryStore>,
): Promise<number> {
  const format = textOrJson(options, 'rollup');
  const settings = loadSettings(options.config);
  const rollUp = (store: HistoryStore, how: LongWork): Promise<number> => store.rollUp(how);
  const { result: days, isInterrupted } = await workOnHistory(settings, terminal, 'days', rollUp, open);
  const says = days === 0 && !isInterrupted ? 'every day is summed' : `${formatCount(days)} days summed`;
  writeAnswer(terminal, format, { days, complete: !isInterrupted }, [says]);
  if (!isInterrupted) return EXIT.found;
  warn(terminal, 'interrupted: the next run sums the days that are left');
  return EXIT.unavailable;
}
