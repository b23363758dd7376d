import type { Command } from 'commander';
import { loadSettings } from '../../record/settings';
import { formatCount } from '../../report/format/units';
import { commandAction, EXIT, type CommandContext, type GlobalOptions } from '../command';
import { textOrJson, warn, writeAnswer } from '../output';
import { workOnHistory } from '../stores/maintenance';
import type { Terminal } from '../terminal';

/** `qmemacct settle` */
export function register(command: Command, context: CommandContext): void {
  command.action(commandAction<GlobalOptions>(context, settle));
}

/** `settle`; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function settle(options: GlobalOptions, terminal: Terminal): Promise<number> {
  const format = textOrJson(options, 'settle');
  const { result, isInterrupted } = await workOnHistory(
    loadSettings(options.config),
    terminal,
    'accounts',
    (store, how) => store.settle(how),
  );
  const { settled, unreadable } = result;
  const says = settled === 0 ? 'nothing waits' : `${formatCount(settled)} accounts settled`;
  writeAnswer(terminal, format, { settled, unreadable, complete: !isInterrupted }, [says]);
  if (unreadable > 0)
    warn(terminal, `${formatCount(unreadable)} accounts can't be read: they stay in qmemacct.inbox, with their error`);
  return isInterrupted || unreadable > 0 ? EXIT.unavailable : EXIT.found;
}
