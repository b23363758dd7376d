import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface NightlyCommandOptions extends GlobalOptions {
  readonly date?: string;
  readonly dryRun?: boolean;
  /** false: --no-mail. */
  readonly mail: boolean;
  readonly force?: boolean;
}

const HELP = `
Takes in what is new in Grid Engine's accounting files, sums the days, removes what is older than keep_* allow, writes
the report of each day that has none yet to report_dir, and mails it: to each owner who wants one the own jobs
("qmemacct digest"), to mail_admins the whole. No night is done twice, no mail goes twice; missed nights are caught up,
seven at most. What fails is told and stops nothing else. Root becomes the user of deliver_as first.`;

/** `qmemacct nightly` */
export function registerNightly(program: Command, context: CommandContext): void {
  program
    .command('nightly')
    .description('import, sum, prune, report and mail: what hooks/nightly.sh runs every night')
    .option('--date <day>', 'the report of that day, not of those that are due')
    .option('--dry-run', 'tell what would be done, and who would get mail')
    .option('--no-mail', 'send nothing; a later run without this still does')
    .option('--force', 'also what is done already; mails that have gone go again')
    .addHelpText('after', HELP)
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./nightly-action.js').then(({ nightly }) =>
          nightly(command.optsWithGlobals<NightlyCommandOptions>(), context.terminal),
        ),
      ),
    );
}
