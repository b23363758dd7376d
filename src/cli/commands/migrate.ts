import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface MigrateOptions extends GlobalOptions {
  readonly credentials?: string;
}

/** `qmemacct migrate SQLITE POSTGRES` */
export function registerMigrate(program: Command, context: CommandContext): void {
  program
    .command('migrate')
    .description('take an SQLite accounting DB over into PostgreSQL, while jobs go on; safe to interrupt and to repeat')
    .argument('<file>', 'the SQLite accounting DB')
    .argument('<url>', 'postgres://USER@HOST/DATABASE, as a member of qmemacct_owner')
    .option('--credentials <file>', 'pgpass file of mode 0600 with the password (default: ~/.pgpass)')
    .action((file: string, url: string, _options: unknown, command: Command) =>
      context.finish(
        import('./migrate-action.js').then(({ migrateSite }) =>
          migrateSite(file, url, command.optsWithGlobals<MigrateOptions>(), context.terminal),
        ),
      ),
    );
}
