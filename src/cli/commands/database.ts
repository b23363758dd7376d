import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface DatabaseOptions extends GlobalOptions {
  readonly credentials?: string;
}

/** `qmemacct database init URL` */
export function registerDatabase(program: Command, context: CommandContext): void {
  const database = program
    .command('database')
    .description('set an accounting DB in PostgreSQL up, or bring it up to date');
  database
    .command('init')
    .description('make roles, tables and functions in a database that is there, or bring them to this version')
    .argument('<url>', 'postgres://ADMIN@HOST/DATABASE, as a role that may create roles')
    .option('--credentials <file>', 'pgpass file of mode 0600 with the password (default: ~/.pgpass)')
    .action((url: string, _options: unknown, command: Command) =>
      context.finish(
        import('./database-action.js').then(({ initPostgres }) =>
          initPostgres(url, command.optsWithGlobals<DatabaseOptions>(), context.terminal),
        ),
      ),
    );
}
