import type { Command } from 'commander';
import type { HistoryStore } from '../../accounting/history-store';
import { loadSettings, type Settings } from '../../record/settings';
import { formatCount } from '../../report/format/units';
import { type CommandContext, type GlobalOptions, EXIT } from '../command';
import { openHistory, becomeDeliverer } from '../stores/maintenance';
import { interruption, progressLine, type Terminal } from '../terminal';
import { outputFormat, warn, writeLines } from '../output';

/** `qmemacct rollup` */
export function register(command: Command, context: CommandContext): void {
  command.action((_options: unknown, given: Command) =>
    context.finish(rollup(given.optsWithGlobals<GlobalOptions>(), context.terminal)),
  );
}

/** `rollup`; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function rollup(
  options: GlobalOptions,
  terminal: Terminal,
  open: (settings: Settings) => Promise<HistoryStore> = openHistory,
): Promise<number> {
  const format = outputFormat(options);
  const settings = loadSettings(options.config);
  becomeDeliverer(settings);
  const store = await open(settings);
  const progress = progressLine(terminal);
  const { signal, release } = interruption();
  try {
    const days = await store.rollUp({
      signal,
      onProgress: (done, of) => {
        progress.show('days', done, of);
      },
    });
    progress.clear();
    if (format === 'json') writeLines(terminal, [JSON.stringify({ schema: 1, days, complete: !signal.aborted })]);
    else
      writeLines(terminal, [
        days === 0 && !signal.aborted ? 'every day is summed' : `${formatCount(days)} days summed`,
      ]);
    if (!signal.aborted) return EXIT.found;
    warn(terminal, 'interrupted: the days that are left come with the next run');
    return EXIT.unavailable;
  } finally {
    progress.clear();
    release();
    await store.close();
  }
}
