import { formatCount } from '../../report/format/units';
import type { HistoryStore, LongWork } from '../../accounting/history-store';
import { formatDay } from '../../report/format/local-time';
import { reasonOf } from '../../base/log';
import type { Settings } from '../../record/settings';
import type { Mailer } from '../mail/mailer';
import type { Ledger, MailName } from './ledger';
import { dueNights, lastNight, parseNight, type Night, type NightKnown } from './night';
import { troubleMail, type NightReport } from './night-mail';
import { pruneReports, writeReport } from './report-files';
import { NO_MAILS, sendNight, sendOnce, wantsMail, type MailCounts } from './send-night';
import type { DigestChoice } from './digest-choices';

/** The steps that others know how to do, and the world around. */
export interface NightlyParts {
  readonly settings: Settings;
  readonly cluster: string;
  readonly host: string;
  readonly now: Date;
  readonly openStore: () => Promise<HistoryStore>;
  /** Takes in what is new in Grid Engine's accounting files; resolves to what came of it, in a few words. */
  readonly importAccounting: (store: HistoryStore, work: LongWork) => Promise<string>;
  /** Of an owner's jobs, or (null) of the site's. */
  readonly report: (store: HistoryStore, night: Night, owner: string | null) => Promise<NightReport>;
  readonly mailer: () => Mailer;
  readonly choices: () => Promise<ReadonlyMap<string, DigestChoice>>;
  readonly signal: AbortSignal;
  /** What is done. */
  readonly print: (line: string) => void;
  /** What went wrong. */
  readonly log: (line: string) => void;
  readonly progress: (step: string, done: number, of: number) => void;
}

export interface NightlyOptions {
  readonly date?: string;
  readonly mail: boolean;
  readonly force?: boolean;
}

export interface NightlyOutcome {
  /** Days that are settled now, and those that have to be tried again. */
  readonly done: readonly string[];
  readonly open: readonly string[];
  readonly skipped: readonly string[];
  readonly mails: MailCounts;
  readonly troubles: readonly string[];
  readonly interrupted: boolean;
}

/** Mails of settled nights are remembered this long: a night that is done is not done again anyway. */
const FORGET_MAILS_AFTER_DAYS = 90;

function daysBefore(now: Date, days: number): string {
  return formatDay(new Date(now.getFullYear(), now.getMonth(), now.getDate() - days));
}

/** What the ledger knows of a night, for a run that sends mail or not. */
export function knownOf(ledger: Pick<Ledger, 'night' | 'begunBy'>, mail: boolean): (day: string) => NightKnown {
  return (day) => {
    const night = ledger.night(day);
    const by = ledger.begunBy(day);
    if (by === null) return 'unknown';
    const isSettled = night !== null && (night.state === 'skipped' || night.mailed || !mail);
    if (by === 'date') return isSettled ? 'settled by date' : 'begun by date';
    return isSettled ? 'settled' : 'begun';
  };
}

function sum(a: MailCounts, b: MailCounts): MailCounts {
  return {
    sent: a.sent + b.sent,
    before: a.before + b.before,
    refused: a.refused + b.refused,
    doubt: a.doubt + b.doubt,
    left: a.left + b.left,
  };
}

/** Takes one step: a failure is noted and stops nothing but itself. */
type Attempt = <T>(what: string, step: () => Promise<T> | T) => Promise<T | null>;

async function tidy(store: HistoryStore, parts: NightlyParts, attempt: Attempt): Promise<void> {
  const { settings, signal, print, now } = parts;
  const work = (step: string): LongWork => ({
    signal,
    onProgress: (done, of) => {
      parts.progress(step, done, of);
    },
  });
  await attempt('import', async () => {
    print(`import: ${await parts.importAccounting(store, work('import'))}`);
  });
  await attempt('roll-up', async () => {
    print(`roll-up: ${formatCount(await store.rollUp(work('roll-up')))} days summed`);
  });
  await attempt('prune', async () => {
    const rules = {
      records: settings.keep_records_days,
      series: settings.keep_charts_days,
      rollups: settings.keep_rollups_days,
    };
    const { records, series, rollups } = await store.prune(rules, now.getTime(), work('prune'));
    print(
      `prune: ${formatCount(records)} records, ${formatCount(series)} charts, ${formatCount(rollups)} sums removed`,
    );
  });
}

/** `nightly`, with the ledger in hand: every night that is due, each step as well as it can be done. */
export async function runNightly(
  parts: NightlyParts,
  ledger: Ledger,
  options: NightlyOptions,
): Promise<NightlyOutcome> {
  const { settings, now, host, signal, print } = parts;
  const known = knownOf(ledger, options.mail && wantsMail(settings));
  const asked = options.date === undefined ? null : parseNight(options.date, now);
  const { due, skipped } =
    asked === null
      ? dueNights(now, known)
      : { due: options.force || !known(asked.day).startsWith('settled') ? [asked] : [], skipped: [] };
  const by = asked === null ? 'due' : 'date';
  const nights = due.length === 0 && asked === null && options.force ? [lastNight(now)] : due;

  const troubles: string[] = [];
  const trouble = (line: string): void => {
    troubles.push(line);
    parts.log(line);
  };
  const stopped = (): boolean => signal.aborted;
  const attempt: Attempt = async (what, step) => {
    if (stopped()) return null;
    try {
      return await step();
    } catch (error) {
      if (!stopped()) trouble(`${what}: ${reasonOf(error)}`);
      return null;
    }
  };
  const at = new Date().toISOString();
  for (const day of skipped) ledger.settle(day, { state: 'skipped', by, mailed: false, at, host });
  if (skipped.length > 0) {
    const first = skipped[0] ?? '';
    const last = skipped.at(-1) ?? '';
    trouble(`missed too long ago for a report: ${first === last ? first : `${first} to ${last}`} (${skipped.length})`);
  }
  if (nights.length === 0) return { done: [], open: [], skipped, mails: NO_MAILS, troubles, interrupted: false };

  const mailer = options.mail && wantsMail(settings) ? await attempt('mail', parts.mailer) : null;
  const mailBroken = options.mail && wantsMail(settings) && mailer === null;
  const choices =
    settings.mail_owners === 'nobody' ? new Map<string, DigestChoice>() : await attempt('digests', parts.choices);
  const done: string[] = [];
  const open: string[] = [];
  const unreported: string[] = [];
  let mails = NO_MAILS;
  const store = await attempt('accounting DB', parts.openStore);
  try {
    if (store !== null) await tidy(store, parts, attempt);
    for (const night of nights) {
      const { day } = night;
      // One that is done, and is done again by force, stays done whatever comes.
      if (ledger.night(day) === null) ledger.begin(day, by);
      const site = store === null ? null : await attempt(`report of ${day}`, () => parts.report(store, night, null));
      if (site === null || store === null) {
        unreported.push(day);
        continue;
      }
      const { report_dir: directory, accounting_mode: mode } = settings;
      if (directory !== '')
        await attempt(`report of ${day}`, () => {
          writeReport(directory, day, parseInt(mode, 8), site);
          print(`report: ${directory}/${day}.html`);
        });
      let counts = NO_MAILS;
      if (mailer !== null && !stopped()) {
        const sent = await attempt(`mails of ${day}`, () =>
          sendNight({
            context: { cluster: parts.cluster, day, host, now },
            ledger,
            mailer,
            rule: settings,
            site,
            ownerReport: (owner) => parts.report(store, night, owner),
            // Without the choices nobody has said yes, and anybody may have said no.
            choices: choices ?? new Map(site.owners.map((owner) => [owner, 'off'])),
            again: options.force ?? false,
            signal,
            troubles,
            trouble,
            onProgress: (count, of) => {
              parts.progress(`mails of ${day}`, count, of);
            },
          }),
        );
        counts = sent ?? { ...NO_MAILS, left: 1 };
        mails = sum(mails, counts);
      }
      if (stopped() || counts.left > 0 || mailBroken || (mailer !== null && choices === null)) open.push(day);
      else {
        const mailed = mailer !== null || !wantsMail(settings);
        ledger.settle(day, { state: 'done', by, mailed, at: new Date().toISOString(), host });
        done.push(day);
      }
    }
    await attempt('report_dir', () => {
      if (settings.report_dir === '' || settings.keep_rollups_days === 0 || done.length === 0) return;
      pruneReports(settings.report_dir, daysBefore(now, settings.keep_rollups_days));
    });
    await attempt('ledger', () => {
      ledger.forgetBefore(daysBefore(now, FORGET_MAILS_AFTER_DAYS));
    });
    const day = unreported.at(-1);
    if (mailer !== null && day !== undefined && !stopped())
      for (const to of settings.mail_admins) {
        // Once a day, for as long as it lasts.
        const name: MailName = { kind: 'trouble', to: `${to} ${formatDay(now)}` };
        const context = { mailer, cluster: parts.cluster, day, host, now };
        const make = () => Promise.resolve(troubleMail(context, name, to, [...troubles]));
        await attempt('mail', () => sendOnce({ ledger, mailer, again: false, trouble }, day, name, make));
      }
  } finally {
    mailer?.close();
    await store?.close();
  }
  return { done, open: [...unreported, ...open].sort(), skipped, mails, troubles, interrupted: stopped() };
}
