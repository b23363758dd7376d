import type { Command } from 'commander';
import { ownCredentials } from '../../accounting/open-store';
import { connect } from '../../accounting/postgres/connect';
import { initDatabase } from '../../accounting/postgres/schema';
import { commandAction, type CommandContext, type GlobalOptions, EXIT } from '../command';
import { textOrJson, writeAnswer } from '../output';
import type { Terminal } from '../terminal';

interface DatabaseOptions extends GlobalOptions {
  readonly credentials?: string;
}

/** `qmemacct database init URL` */
export function register(database: Command, context: CommandContext): void {
  database
    .command('init')
    .description('create roles, tables and functions in an existing database, or upgrade them to this version')
    .argument('<url>', 'postgres://ADMIN@HOST/DATABASE, as a role that may create roles')
    .option('--credentials <file>', 'pgpass file of mode 0600 with the password (default: ~/.pgpass)')
    .action(commandAction<DatabaseOptions, [string]>(context, initPostgres));
}

const NEXT = [
  'Now create the roles that log in, and let pg_hba.conf name them:',
  '  CREATE ROLE sgeadmin LOGIN; GRANT qmemacct_deliver TO sgeadmin;              -- the hooks of all hosts: the user of deliver_as',
  '  CREATE ROLE accounting LOGIN; GRANT qmemacct_owner TO accounting;            -- the server, the nightly job and the import',
  '  GRANT qmemacct_read TO ...;     -- who may see all jobs; qmemacct_project: those of their projects; qmemacct_own: theirs',
  'Then set accounting = "postgres://HOST/DATABASE?sslmode=verify-full" in qmemacct.toml of every host, and',
  '"postgres://accounting@HOST/DATABASE?sslmode=verify-full" where the server and the nightly job run.',
];

/** `database init`; resolves to the exit status. Rejects with StoreError. */
async function initPostgres(url: string, options: DatabaseOptions, terminal: Terminal): Promise<number> {
  const format = textOrJson(options, 'database');
  const db = connect(url, { credentials: options.credentials ?? ownCredentials() });
  try {
    const { before, after } = await initDatabase(db);
    const says =
      before === after ? `is up to date (schema ${after})` : `schema ${after}${before > 0 ? ` (was ${before})` : ''}`;
    writeAnswer(terminal, format, { before, after }, [`${url}: ${says}`, ...(before > 0 ? [] : NEXT)]);
    return EXIT.found;
  } finally {
    await db.close();
  }
}
