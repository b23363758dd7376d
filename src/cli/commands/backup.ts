import { resolve } from 'node:path';
import type { Command } from 'commander';
import { backUp } from '../../accounting/sqlite/backup';
import { isPostgresUrl } from '../../record/postgres-url';
import { loadSettings } from '../../record/settings';
import { formatBytes } from '../../report/format/units';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT } from '../command';
import { interruption, progressLine, type Terminal } from '../terminal';
import { textOrJson, warn, writeAnswer } from '../output';

/** `qmemacct backup FILE` */
export function register(command: Command, context: CommandContext): void {
  command
    .argument('<file>', 'the copy, written whole or not at all; an earlier one is replaced')
    .action(commandAction<GlobalOptions, [string]>(context, backup));
}

/** `backup`; resolves to the exit status. Rejects with UserError, SettingsError or StoreError. */
async function backup(file: string, options: GlobalOptions, terminal: Terminal): Promise<number> {
  const format = textOrJson(options, 'backup');
  const { accounting } = loadSettings(options.config);
  if (isPostgresUrl(accounting))
    throw new CommandError(
      `${accounting}: only an SQLite accounting DB is copied by this; use pg_dump (admin guide, "Back up and restore")`,
      EXIT.usage,
    );
  const to = resolve(file);
  const progress = progressLine(terminal);
  const { signal, release } = interruption();
  const onProgress = (done: number, of: number): void => progress.show('MiB', done, of);
  const bytes = await backUp(accounting, to, { signal, onProgress }).finally(() => {
    progress.clear();
    release();
  });
  if (bytes === null) {
    warn(terminal, 'interrupted: nothing was kept; start again');
    return EXIT.unavailable;
  }
  const says = `${accounting} copied to ${to}: ${formatBytes(bytes)}`;
  writeAnswer(terminal, format, { accounting, file: to, bytes }, [says]);
  return EXIT.found;
}
