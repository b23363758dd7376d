import type { Command } from 'commander';
import type { HistoryStore } from '../../accounting/history-store';
import { loadSettings, type Settings } from '../../record/settings';
import { formatCount } from '../../report/format/units';
import { EXIT, type CommandContext, type GlobalOptions } from '../command';
import { outputFormat, warn, writeLines } from '../output';
import { becomeDeliverer, openHistory } from '../stores/maintenance';
import { interruption, type Terminal } from '../terminal';

/** `qmemacct settle` */
export function register(command: Command, context: CommandContext): void {
  command.action((_options: unknown, given: Command) =>
    context.finish(settle(given.optsWithGlobals<GlobalOptions>(), context.terminal)),
  );
}

/** `settle`; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function settle(
  options: GlobalOptions,
  terminal: Terminal,
  open: (settings: Settings) => Promise<HistoryStore> = openHistory,
): Promise<number> {
  const format = outputFormat(options);
  const settings = loadSettings(options.config);
  becomeDeliverer(settings);
  const store = await open(settings);
  const { signal, release } = interruption();
  try {
    const { settled, unreadable } = await store.settle({ signal });
    if (format === 'json')
      writeLines(terminal, [JSON.stringify({ schema: 1, settled, unreadable, complete: !signal.aborted })]);
    else writeLines(terminal, [settled === 0 ? 'nothing waits' : `${formatCount(settled)} accounts settled`]);
    if (unreadable > 0)
      warn(
        terminal,
        `${formatCount(unreadable)} accounts can't be read: they stay in qmemacct.inbox, with their error`,
      );
    return signal.aborted || unreadable > 0 ? EXIT.unavailable : EXIT.found;
  } finally {
    release();
    await store.close();
  }
}
