import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ownCredentials } from '../../accounting/open-store';
import { connect } from '../../accounting/postgres/connect';
import { takeOver, type TakenOver } from '../../accounting/postgres/take-over';
import { openWholeStore } from '../../accounting/sqlite/read/whole-store';
import { StoreError } from '../../accounting/store-error';
import { escapeForTerminal } from '../../report/format/escape';
import { formatCount } from '../../report/format/units';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT } from '../command';
import { interruption, progressLine, type Terminal } from '../terminal';
import { textOrJson, warn, writeAnswer } from '../output';

interface MigrateOptions extends GlobalOptions {
  readonly credentials?: string;
}

/** `qmemacct migrate SQLITE POSTGRES` */
export function register(command: Command, context: CommandContext): void {
  command
    .argument('<file>', 'the SQLite accounting DB')
    .argument('<url>', 'postgres://USER@HOST/DATABASE, as a member of qmemacct_owner')
    .option('--credentials <file>', 'pgpass file of mode 0600 with the password (default: ~/.pgpass)')
    .action(commandAction<MigrateOptions, [string, string]>(context, migrateSite));
}

const MOST_LINES = 20;

function describe(taken: TakenOver, path: string, url: string): readonly string[] {
  const { read, added, changed, files, there, here, refused, lacking, complete } = taken;
  const done = [
    `${formatCount(read)} records read: ${formatCount(added)} new, ${formatCount(changed)} changed, the others were there already`,
    ...(files > 0 ? [`${formatCount(files)} imported files`] : []),
  ].join('; ');
  if (!complete) return [`${done}; interrupted: run it again to continue`];
  return [
    done,
    `${path}: ${formatCount(there)} records; ${url}: ${formatCount(here)} records`,
    ...(refused.length > 0 ? [`${formatCount(refused.length)} could not be copied`] : []),
    ...(refused.length + lacking.length === 0
      ? [
          'Now set accounting to that database in qmemacct.toml of every host, without USER where the hooks run; then run this once more, for what came late.',
        ]
      : []),
  ];
}

/** Warns of each line, up to MOST_LINES. */
function warnOf(terminal: Terminal, lines: readonly string[]): void {
  for (const line of lines.slice(0, MOST_LINES)) warn(terminal, escapeForTerminal(line));
  if (lines.length > MOST_LINES) warn(terminal, `and ${formatCount(lines.length - MOST_LINES)} more (all: --json)`);
}

/** `migrate`; resolves to the exit status. Rejects with CommandError or StoreError. */
async function migrateSite(file: string, url: string, options: MigrateOptions, terminal: Terminal): Promise<number> {
  const format = textOrJson(options, 'migrate');
  const path = resolve(file);
  const from = openWholeStore(path);
  const db = connect(url, { credentials: options.credentials ?? ownCredentials() });
  const progress = progressLine(terminal);
  const { signal, release } = interruption();
  let warned = '';
  try {
    const taken = await takeOver(db, from, `${hostname()}:${path}`, {
      signal,
      onProgress: (done, of) => {
        warned = '';
        progress.show('copying records', done, of);
      },
      onFault: ({ message }) => {
        progress.clear();
        if (message !== warned) warn(terminal, `${message}; trying again`);
        warned = message;
      },
    });
    progress.clear();
    writeAnswer(terminal, format, taken, describe(taken, path, url));
    warnOf(terminal, taken.refused);
    if (taken.lacking.length > 0) {
      warn(
        terminal,
        `${url} lacks some of what ${path} has; run this again, and make sure that nothing is removed there`,
      );
      warnOf(terminal, taken.lacking);
    }
    const pruned = from.prunedDays();
    if (pruned > 0 && taken.complete)
      warn(terminal, `the sums of ${formatCount(pruned)} days whose records have been pruned stay in ${path}`);
    const all = taken.complete && taken.refused.length + taken.lacking.length === 0;
    return all ? EXIT.found : EXIT.unavailable;
  } catch (error) {
    if (!(error instanceof StoreError) || !error.retry) throw error;
    const again = `${error.message}; then run this again: it continues where it stopped`;
    throw new CommandError(again, EXIT.unavailable, { cause: error });
  } finally {
    progress.clear();
    release();
    from.close();
    await db.close();
  }
}
