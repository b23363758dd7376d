import { Argument, type Command } from 'commander';
import { loadSettings, type Settings } from '../../record/settings';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT, usageError } from '../command';
import { choiceOf, JOB_MAILS, writeChoice, type DigestChoice, type JobMail } from '../nightly/digest-choices';
import { textOrJson, warn, writeAnswer } from '../output';
import type { Terminal } from '../terminal';

interface DigestOptions extends GlobalOptions {
  readonly eachJob?: boolean;
  readonly atRisk?: boolean;
}

/** `qmemacct digest on|off|status` */
export function register(command: Command, context: CommandContext): void {
  command
    .addArgument(new Argument('[state]', 'on, off, or status').choices(['on', 'off', 'status']).default('status'))
    .option(
      '--each-job',
      'also a mail when a job has ended, one for an array job; for a single job: qsub -ac qmemacct=mail',
    )
    .option('--at-risk', 'also a mail when a job may run out of memory, once per reason')
    .action(commandAction<DigestOptions, [string]>(context, digest));
}

function meaning(
  { mail_owners: rule }: Settings,
  choice: DigestChoice | null,
): { readonly gets: boolean; readonly says: string } {
  if (rule === 'nobody') return { gets: false, says: 'this site sends no digests (mail_owners = "nobody")' };
  if (choice === 'on' || (rule === 'all' && choice !== 'off'))
    return {
      gets: true,
      says: 'a mail about your jobs after each day on which you had some; "qmemacct digest off" stops it',
    };
  return {
    gets: false,
    says: rule === 'all' ? 'no digest: you declined it' : 'no digest: "qmemacct digest on" asks for it',
  };
}

function unusable(directory: string, error: unknown): CommandError {
  const { code, message } = error as NodeJS.ErrnoException;
  const why =
    code === 'ENOENT'
      ? 'is not on this host; the nightly job may run on another one: try there'
      : code === 'ENOSPC' || code === 'EDQUOT'
        ? `has no room for your choice: ${message}; make room there`
        : `can't be used: ${message}; it must be root's, with mode 1777`;
  return new CommandError(`digest_dir ${directory} ${why}, or ask an admin`, EXIT.unavailable, { cause: error });
}

const JOB_MAIL_WORDS: Readonly<Record<JobMail, string>> = {
  'each-job': 'a mail when a job of yours has ended, one for an array job',
  'at-risk': 'a mail when a job of yours may run out of memory',
};

/** `digest`; resolves to the exit status. Rejects with CommandError or SettingsError. */
export async function digest(word: string, options: DigestOptions, terminal: Terminal): Promise<number> {
  const format = textOrJson(options, 'digest');
  const settings = loadSettings(options.config);
  const directory = settings.digest_dir;
  const asked = JOB_MAILS.filter((mail) => (mail === 'each-job' ? options.eachJob : options.atRisk));
  if (word === 'status' && asked.length > 0) throw usageError('digest: --each-job and --at-risk go with "on" or "off"');
  let said: ReturnType<typeof choiceOf>;
  try {
    if (word === 'on' || word === 'off') writeChoice(directory, word, asked);
    said = choiceOf(directory, process.geteuid?.() ?? -1);
  } catch (error) {
    throw unusable(directory, error);
  }
  const choice = said?.choice ?? null;
  const { gets, says } = meaning(settings, choice);
  const also = settings.mail_owners === 'nobody' ? [] : (said?.also ?? []);
  const mails = { each_job: also.includes('each-job'), at_risk: also.includes('at-risk') };
  const words = also.map((mail) => JOB_MAIL_WORDS[mail]);
  writeAnswer(terminal, format, { wish: choice, digest: gets, ...mails }, [says, ...words]);
  if (word === 'on' && !gets) warn(terminal, 'your choice is stored all the same');
  return Promise.resolve(gets || word !== 'status' ? EXIT.found : EXIT.nothing);
}
