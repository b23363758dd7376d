import { constants, existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { isPermitted } from '../../base/file-state';
import { warn as log } from '../../base/log';
import { LimitedLog } from '../../base/log-limit';
import { readClusterName } from '../../gridengine/cluster-name';
import { findCell } from '../../gridengine/find-cell';
import { loadSettings, type Settings } from '../../record/settings';
import { plural } from '../../report/format/units';
import { commandAction, type CommandContext, type GlobalOptions, EXIT } from '../command';
import { interruption, progressLine, type Terminal } from '../terminal';
import { becomeDeliverer } from '../stores/maintenance';
import { ownerAddress } from '../mail/address';
import { createMailer, type Mailer } from '../mail/mailer';
import { ledgerDirectory, openLedger, readLedger, type MailName } from '../nightly/ledger';
import { choicesByName } from '../nightly/digest-choices';
import { chooseNights, type Night } from '../nightly/night';
import { makeNightPlaces } from '../nightly/report-files';
import { nightSteps, type NightSteps } from '../nightly/night-steps';
import { knownOf, runNightly, type NightlyOutcome, type NightlyParts } from '../nightly/run-nightly';
import { digestOwners, siteMailTo, wantsMail } from '../nightly/send-night';
import { textOrJson, warn, writeAnswer, writeLines } from '../output';

export interface NightlyCommandOptions extends GlobalOptions {
  readonly date?: string;
  readonly dryRun?: boolean;
  /** false: --no-mail. */
  readonly mail: boolean;
  readonly force?: boolean;
}

const HELP = `
Imports what is new in Grid Engine's accounting files, sums up the days, removes what keep_* no longer allow, writes a
report to report_dir for each day that has none yet, and mails it: the whole to mail_admins, and to each owner who wants
it ("qmemacct digest") their own jobs. Each night is done once, and each mail is sent once; up to seven missed nights are
caught up. A part that fails is reported and does not stop the others. Root becomes the user of deliver_as first.`;

/** `qmemacct nightly` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--date <day>', 'the report of that day, not of those that are due')
    .option('--dry-run', 'show what would be done and who would get mail')
    .option('--no-mail', 'send no mail; a later run without this option does')
    .option('--force', 'repeat what is done already; mails that were sent are sent again')
    .addHelpText('after', HELP)
    .action(commandAction<NightlyCommandOptions>(context, nightly));
}

/** At most this many of a night's problems are logged; --json has them all. */
const MOST_LINES = 100;

function clusterName(settings: Settings, env: Terminal['env']): string {
  if (settings.cluster !== '') return settings.cluster;
  const cell = findCell(env, settings);
  return cell === null ? '' : readClusterName(cell.root, cell.cell);
}

/** One line on what a run did. */
function describeNightly({ done, open, skipped, mails, troubles, interrupted }: NightlyOutcome): string {
  const { sent, refused, doubt, left } = mails;
  if (done.length + open.length + skipped.length === 0) return 'nothing to do: every night is done';
  const parts = [
    ...(done.length > 0 ? [`done: ${done.join(', ')}`] : []),
    ...(open.length > 0 ? [`to be tried again: ${open.join(', ')}`] : []),
    ...(skipped.length > 0 ? [`${plural(skipped.length, 'older night')} skipped`] : []),
    `${plural(sent, 'mail')} sent`,
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(doubt > 0 ? [`${doubt} in doubt`] : []),
    ...(left > 0 ? [`${left} not sent yet`] : []),
    ...(troubles.length > 0 ? [plural(troubles.length, 'problem')] : []),
  ];
  return `${interrupted ? 'interrupted; ' : ''}${parts.join('; ')}`;
}

/** Whether a run would create the accounting DB: there is none, and its directory is writable. */
function isToBeMade(accounting: string): boolean {
  if (!accounting.startsWith('/') || existsSync(accounting)) return false;
  return isPermitted(dirname(accounting), constants.W_OK | constants.X_OK);
}

/** What a run would do now, without doing it; one line each. */
async function plan(
  options: NightlyCommandOptions,
  settings: Settings,
  steps: NightSteps,
  parts: Pick<NightlyParts, 'now' | 'choices' | 'mailer'>,
): Promise<readonly string[]> {
  const directory = ledgerDirectory(settings);
  const ledger = readLedger(directory);
  const known = knownOf(ledger, options.mail && wantsMail(settings), parts.now);
  const { nights, skipped } = chooseNights(parts.now, known, options);
  if (nights.length === 0) return ['nothing to do: every night is done'];
  const mailer = options.mail && wantsMail(settings) ? parts.mailer() : null;
  const choices = mailer === null || settings.mail_owners === 'nobody' ? new Map() : await parts.choices();
  const store = await steps.openReader(settings).catch((error: unknown) => {
    if (isToBeMade(settings.accounting)) return null;
    throw error;
  });
  const lines = [
    ...(store === null ? [`make the accounting DB ${settings.accounting}`] : []),
    `import, roll-up and prune in ${settings.accounting}`,
    ...(skipped.length > 0 ? [`skip what was missed too long ago: ${skipped.join(', ')}`] : []),
  ];
  try {
    for (const night of nights) {
      if (settings.report_dir !== '') lines.push(`write ${settings.report_dir}/${night.day}.html and .json`);
      if (mailer === null) continue;
      const { owners } = store === null ? { owners: [] } : await steps.report(store, night, null, parts.now, settings);
      const mails: readonly (readonly [MailName, string | null])[] = [
        ...digestOwners(settings, owners, choices).map(
          (owner) => [{ kind: 'digest', to: owner }, ownerAddress(owner, settings.mail_domain)] as const,
        ),
        ...siteMailTo(settings).map((to) => [{ kind: 'site', to }, to] as const),
      ];
      for (const [name, to] of mails) {
        const state = options.force === true ? 'open' : ledger.stateOf(night.day, name);
        const what = `${night.day}: ${name.kind === 'digest' ? `digest for ${name.to}` : 'report'}`;
        if (to === null) lines.push(`${what}: none, since no address can be made of that name`);
        else lines.push(state === 'open' ? `${what}, mail to ${to}` : `${what}: ${state} before, does not go again`);
      }
    }
    return lines;
  } finally {
    await store?.close();
  }
}

/** Makes the mailer at once; why it can't be made is thrown when it is wanted. */
function preparedMailer(settings: Settings, host: string): () => Mailer {
  try {
    const mailer = createMailer(settings, host);
    return () => mailer;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** `nightly`; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function nightly(
  options: NightlyCommandOptions,
  terminal: Terminal,
  steps: NightSteps = nightSteps,
): Promise<number> {
  const format = textOrJson(options, 'nightly');
  const settings = loadSettings(options.config);
  const now = terminal.now();
  const host = hostname();
  process.umask(0o022);
  // Before root's rights are dropped: only root can read root's password file.
  const mailer = preparedMailer(settings, host);
  if (!options.dryRun) makeNightPlaces(settings);
  becomeDeliverer(settings);
  const progress = progressLine(terminal);
  // Without a terminal, systemd or cron sends standard error to the log.
  const limited = new LimitedLog((line) => warn(terminal, line), { most: MOST_LINES });
  const { signal, release } = interruption();
  const parts: NightlyParts = {
    settings,
    cluster: clusterName(settings, terminal.env),
    host,
    now,
    openStore: () => steps.openStore(settings),
    importAccounting: (store, work) => steps.importAccounting(store, settings, terminal.env, work),
    report: (store, night: Night, owner) => steps.report(store, night, owner, now, settings),
    mailer,
    choices: async () =>
      new Map([...(await choicesByName(settings.digest_dir))].map(([name, { choice }]) => [name, choice])),
    signal,
    print: (line) => {
      progress.clear();
      if (terminal.isTTY && format === 'text') writeLines(terminal, [line]);
    },
    log: (line) => {
      progress.clear();
      if (terminal.isTTY) warn(terminal, line);
      if (terminal.isTTY) log(`nightly: ${line}`);
      else limited.say(line);
    },
    progress: format === 'text' ? progress.show : () => undefined,
  };
  try {
    if (options.dryRun) {
      const lines = await plan(options, settings, steps, parts);
      writeAnswer(terminal, format, { dry_run: true, plan: lines }, lines);
      return EXIT.found;
    }
    const who = `${host} ${process.pid} ${now.toISOString()}`;
    const ledger = openLedger(ledgerDirectory(settings), who, (line) => warn(terminal, line));
    try {
      const outcome = await runNightly(parts, ledger, options);
      progress.clear();
      writeAnswer(terminal, format, outcome, [describeNightly(outcome)]);
      const isWell = outcome.troubles.length === 0 && outcome.open.length === 0 && !outcome.interrupted;
      return isWell ? EXIT.found : EXIT.unavailable;
    } finally {
      ledger.close();
    }
  } finally {
    progress.clear();
    limited.flush();
    release();
  }
}
