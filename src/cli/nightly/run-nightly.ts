import { formatCount } from '../../report/format/units';
import type { HistoryStore, LongWork } from '../../accounting/history-store';
import { formatDay } from '../../report/format/local-time';
import { reasonOf } from '../../base/user-error';
import type { Settings } from '../../record/settings';
import type { Mailer } from '../mail/mailer';
import type { Ledger, MailName } from './ledger';
import { retentionOf } from '../stores/maintenance';
import { chooseNights, dayBefore, type Night, type NightKnown } from './night';
import type { MailReport } from '../../report/efficiency/mail-report';
import { troubleMail } from './night-mail';
import { pruneReports, writeReport } from './report-files';
import { NO_MAILS, sendNight, sendOnce, wantsMail, type MailCounts } from './send-night';
import type { DigestChoice } from './digest-choices';

/** The steps of the nightly job, and what it needs from outside. */
export interface NightlyParts {
  readonly settings: Settings;
  readonly cluster: string;
  readonly host: string;
  readonly now: Date;
  readonly openStore: () => Promise<HistoryStore>;
  /** Imports new lines of Grid Engine's accounting files; resolves to a line on what it did. */
  readonly importAccounting: (store: HistoryStore, work: LongWork) => Promise<string>;
  /** Makes the report on an owner's jobs; null: on the whole site's. */
  readonly report: (store: HistoryStore, night: Night, owner: string | null) => Promise<MailReport>;
  readonly mailer: () => Mailer;
  readonly choices: () => Promise<ReadonlyMap<string, DigestChoice>>;
  readonly signal: AbortSignal;
  /** Prints what was done. */
  readonly print: (line: string) => void;
  /** Logs what went wrong. */
  readonly log: (line: string) => void;
  readonly progress: (step: string, done: number, of: number) => void;
}

export interface NightlyOptions {
  readonly date?: string;
  readonly mail: boolean;
  readonly force?: boolean;
}

export interface NightlyOutcome {
  /** Days that are settled now; `open`: days to be tried again. */
  readonly done: readonly string[];
  readonly open: readonly string[];
  readonly skipped: readonly string[];
  readonly mails: MailCounts;
  readonly troubles: readonly string[];
  readonly interrupted: boolean;
}

/** How long mails of settled nights are remembered; a settled night is not done again anyway. */
const FORGET_MAILS_AFTER_DAYS = 90;

/**
 * The state of a night by the ledger, for a run that sends mail or not. A night settled later than `now` was settled
 * with a wrong clock, possibly before its day was over, so it does not count as settled.
 */
export function knownOf(
  ledger: Pick<Ledger, 'night' | 'begunBy'>,
  mail: boolean,
  now: Date,
): (day: string) => NightKnown {
  return (day) => {
    const night = ledger.night(day);
    const by = ledger.begunBy(day);
    if (by === null) return 'unknown';
    const isDue = night === null || Date.parse(night.at) > now.getTime();
    const isSettled = !isDue && (night.state === 'skipped' || night.mailed || !mail);
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

type Choices = ReadonlyMap<string, DigestChoice>;

/** What a night's mails are made from and sent with. */
/** What all nights of a run share; null: it could not be had. */
interface Tonight {
  readonly store: HistoryStore | null;
  readonly mailer: Mailer | null;
  readonly choices: Choices | null;
  /** Whether the sums cover all data. */
  readonly isSummed: boolean;
}

interface Sending {
  readonly store: HistoryStore;
  readonly site: MailReport;
  readonly mailer: Mailer;
  /** null: the users' choices can't be read. */
  readonly choices: Choices | null;
}

/** One run of `nightly`, with what it has done and what went wrong so far. */
class NightlyRun {
  private readonly done: string[] = [];
  private readonly open: string[] = [];
  private readonly unreported: string[] = [];
  private readonly troubles: string[] = [];
  private mails = NO_MAILS;
  private readonly sends: boolean;

  constructor(
    private readonly parts: NightlyParts,
    private readonly ledger: Ledger,
    private readonly options: NightlyOptions,
  ) {
    this.sends = options.mail && wantsMail(parts.settings);
  }

  async run(): Promise<NightlyOutcome> {
    const { nights, skipped } = chooseNights(
      this.parts.now,
      knownOf(this.ledger, this.sends, this.parts.now),
      this.options,
    );
    await this.skip(skipped);
    if (nights.length > 0) await this.take(nights);
    const { done, unreported, open, mails, troubles } = this;
    const interrupted = nights.length > 0 && this.stopped();
    return { done, open: [...unreported, ...open].sort(), skipped, mails, troubles, interrupted };
  }

  private stopped(): boolean {
    return this.parts.signal.aborted;
  }

  private readonly trouble = (line: string): void => {
    this.troubles.push(line);
    this.parts.log(line);
  };

  /** Runs one step; its failure is noted, and the other steps go on. null: failed or interrupted. */
  private async attempt<T>(what: string, step: () => Promise<T> | T): Promise<T | null> {
    if (this.stopped()) return null;
    try {
      return await step();
    } catch (error) {
      if (!this.stopped()) this.trouble(`${what}: ${reasonOf(error)}`);
      return null;
    }
  }

  /** Resolves to whether the night is settled. */
  private async settle(day: string, state: 'done' | 'skipped', mailed: boolean): Promise<boolean> {
    const by = this.options.date === undefined ? 'due' : 'date';
    const settled = await this.attempt('ledger', () => {
      this.ledger.settle(day, { state, by, mailed, at: this.parts.now.toISOString(), host: this.parts.host });
      return true;
    });
    return settled !== null;
  }

  private async skip(days: readonly string[]): Promise<void> {
    const tried = days.filter((day) => this.ledger.begunBy(day) !== null);
    const missed = days.filter((day) => !tried.includes(day));
    for (const day of days) await this.settle(day, 'skipped', false);
    const say = (what: string, which: readonly string[]): void => {
      const [first, last] = [which[0], which.at(-1)];
      if (first === undefined || last === undefined) return;
      this.trouble(`${what}: ${first === last ? first : `${first} to ${last}`} (${which.length})`);
    };
    say('missed too long ago for a report', missed);
    say('something failed in every run for a week, and is not tried again', tried);
  }

  private async take(nights: readonly Night[]): Promise<void> {
    const { parts } = this;
    const mailer = this.sends ? await this.attempt('mail', parts.mailer) : null;
    const choices: Choices | null =
      parts.settings.mail_owners === 'nobody' ? new Map() : await this.attempt('digests', parts.choices);
    const store = await this.attempt('accounting DB', parts.openStore);
    try {
      const isSummed = store !== null && (await this.tidy(store));
      for (const night of nights) await this.reportNight(night, { store, mailer, choices, isSummed });
      await this.forget();
      if (mailer !== null) await this.mailTroubles(mailer);
    } finally {
      mailer?.close();
      await store?.close();
    }
  }

  private async reportNight(night: Night, { store, mailer, choices, isSummed }: Tonight): Promise<void> {
    const { parts, ledger } = this;
    const { day } = night;
    await this.attempt('ledger', () => ledger.begin(day, this.options.date === undefined ? 'due' : 'date'));
    const site = store === null ? null : await this.attempt(`report of ${day}`, () => parts.report(store, night, null));
    if (site === null || store === null) {
      this.unreported.push(day);
      return;
    }
    const isWritten = await this.writeReport(day, site);
    const left = mailer === null ? 0 : await this.mail(night, { store, site, mailer, choices });
    const mailBroken = this.sends && (mailer === null || choices === null);
    const isWhole = !this.stopped() && isSummed && isWritten && left === 0 && !mailBroken;
    const mailed = mailer !== null || !wantsMail(parts.settings);
    const isDone = isWhole && (await this.settle(day, 'done', mailed));
    (isDone ? this.done : this.open).push(day);
  }

  /** Imports, rolls up and prunes; resolves to whether the reports will cover all data. */
  private async tidy(store: HistoryStore): Promise<boolean> {
    const { settings, signal, print, now, progress } = this.parts;
    const work = (step: string): LongWork => ({ signal, onProgress: (done, of) => progress(step, done, of) });
    const imported = await this.attempt('import', async () => {
      print(`import: ${await this.parts.importAccounting(store, work('import'))}`);
      return true;
    });
    const summed = await this.attempt('roll-up', async () => {
      print(`roll-up: ${formatCount(await store.rollUp(work('roll-up')))} days summed`);
      return true;
    });
    await this.attempt('prune', async () => {
      const { records, series, rollups } = await store.prune(retentionOf(settings), now.getTime(), work('prune'));
      print(
        `prune: ${formatCount(records)} records, ${formatCount(series)} charts, ${formatCount(rollups)} sums removed`,
      );
    });
    return imported !== null && summed !== null;
  }

  /** Resolves to whether the report is written, or none is wanted. */
  private async writeReport(day: string, site: MailReport): Promise<boolean> {
    const { report_dir: directory, accounting_mode: mode } = this.parts.settings;
    if (directory === '') return true;
    const written = await this.attempt(`report of ${day}`, () => {
      writeReport(directory, day, parseInt(mode, 8), site);
      this.parts.print(`report: ${directory}/${day}.html`);
      return true;
    });
    return written !== null;
  }

  /** Resolves to how many mails are still to be sent. */
  private async mail(night: Night, { store, site, mailer, choices }: Sending): Promise<number> {
    const { cluster, host, now, settings, signal, report, progress } = this.parts;
    const { day } = night;
    if (this.stopped()) return 0;
    const counts = (await this.attempt(`mails of ${day}`, () =>
      sendNight({
        context: { cluster, day, host, now },
        ledger: this.ledger,
        mailer,
        rule: settings,
        site,
        ownerReport: (owner) => report(store, night, owner),
        // If choices can't be read, send no digest: anybody may have declined.
        choices: choices ?? new Map(site.owners.map((owner) => [owner, 'off'])),
        again: this.options.force ?? false,
        signal,
        troubles: this.troubles,
        trouble: this.trouble,
        onProgress: (count, of) => progress(`mails of ${day}`, count, of),
      }),
    )) ?? { ...NO_MAILS, left: 1 };
    this.mails = sum(this.mails, counts);
    return counts.left;
  }

  private async forget(): Promise<void> {
    const { settings, now } = this.parts;
    await this.attempt('report_dir', () => {
      if (settings.report_dir === '' || settings.keep_rollups_days === 0 || this.done.length === 0) return;
      pruneReports(settings.report_dir, dayBefore(now, settings.keep_rollups_days));
    });
    await this.attempt('ledger', () => {
      this.ledger.forgetBefore(dayBefore(now, FORGET_MAILS_AFTER_DAYS));
    });
  }

  private async mailTroubles(mailer: Mailer): Promise<void> {
    const { settings, cluster, host, now } = this.parts;
    const day = this.unreported.at(-1);
    if (day === undefined || this.stopped()) return;
    for (const to of settings.mail_admins) {
      // The name makes it one mail a day for as long as the problem lasts.
      const name: MailName = { kind: 'trouble', to: `${to} ${formatDay(now)}` };
      const context = { mailer, cluster, day, host, now };
      const make = () => Promise.resolve(troubleMail(context, name, to, [...this.troubles]));
      const sending = { ledger: this.ledger, mailer, trouble: this.trouble };
      await this.attempt('mail', () => sendOnce(sending, day, name, make));
    }
  }
}

/** Does every night that is due; a failed step does not stop the others. `ledger`: opened, with its lock held. */
export function runNightly(parts: NightlyParts, ledger: Ledger, options: NightlyOptions): Promise<NightlyOutcome> {
  return new NightlyRun(parts, ledger, options).run();
}
