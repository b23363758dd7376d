import { HOUR_MS } from '../../base/units';
import type { AccountingReader } from '../../accounting/store';
import { groupBy } from '../../base/group-by';
import { formatDay } from '../../report/format/local-time';
import type { Settings } from '../../record/settings';
import { ownerAddress } from '../mail/address';
import type { Mailer } from '../mail/mailer';
import { messageId } from '../mail/message';
import type { Ledger, MailName } from '../nightly/ledger';
import { dayBefore } from '../nightly/night';
import { sendOnce } from '../nightly/send-night';
import type { UserChoice } from '../nightly/digest-choices';
import { askedKey, type AskedJobs } from './asked-jobs';
import type { ClusterFacts, RiskFact } from './cluster-facts';
import { endedJobs, stateOfJob } from './ended-jobs';
import { ASKED_FOR, endedMail, riskMail, turnedOn, type MailText } from './job-mail';

interface JobMailParts {
  readonly settings: Pick<Settings, 'mail_domain' | 'grid_engine'>;
  readonly host: string;
  readonly reader: AccountingReader;
  readonly ledger: Ledger;
  readonly asked: AskedJobs;
  /** Called once per round that has mails to send. Throws CommandError. */
  readonly mailer: () => Mailer;
  /** The users' choices of mails, by owner. */
  readonly choices: () => Promise<ReadonlyMap<string, UserChoice>>;
  readonly now: () => Date;
  readonly log: (line: string) => void;
}

/** Mails tried per kind and owner within an hour, successful or not; further mails wait. */
const MOST_AN_HOUR: Readonly<Record<Kind, number>> = { job: 30, risk: 5 };
/** How long ago a job may have ended: records come late if a host was down. */
const LOOK_BACK_MS = 24 * HOUR_MS;
/** How far the server's clock and those of execution hosts may differ. */
const CLOCKS_APART_MS = HOUR_MS;
/** Within this time of qmaster forgetting a job, its records and accounting lines come. */
const RECORDS_COME_MS = 60_000;
/** How long the ledger remembers mails, since a job may be at risk that long. */
const REMEMBERED_DAYS = 30;
const MOST_KNOWN = 100_000;

type Kind = 'job' | 'risk';

/** What a mail is about. */
interface Subject {
  readonly kind: Kind;
  readonly owner: string;
  readonly what: string;
}

/** An owner who wants mails about ended jobs. */
interface WantedEnds {
  readonly owner: string;
  /** Only about jobs that ended since then (ms). */
  readonly since: number;
  /** Only about these jobs, by `askedKey`; null: about all. */
  readonly jobs: ReadonlySet<string> | null;
}

interface Round {
  mailer: Mailer | null;
  sent: number;
  /** The mail server accepts no more mails in this round. */
  isStopped: boolean;
}

/** The owners who want a mail about each job. */
function wantedEnds(choices: ReadonlyMap<string, UserChoice>): readonly WantedEnds[] {
  return [...choices].flatMap(([owner, { also, since }]) =>
    also.includes('each-job') ? [{ owner, since, jobs: null }] : [],
  );
}

/** Mails to owners about single jobs: that a job has ended, or may run out of memory. Each is sent at most once. */
export class JobMails {
  /** Mails that need no sending any more, by name; the ledger has them, too. */
  private readonly gone = new Set<string>();
  /** When the last mails to an owner were tried (ms). */
  private readonly times = new Map<string, readonly number[]>();
  /** When jobs of which more might come were first seen to be over (ms): as of this round, and of the last. */
  private over = new Map<string, number>();
  private overBefore: ReadonlyMap<string, number> = this.over;
  /** The days whose mails the ledger knows. */
  private days: readonly string[] = [];

  constructor(private readonly parts: JobMailParts) {}

  /**
   * Sends the mails that are due. Resolves to their number, and to whether other mails need the list of waiting jobs.
   * Rejects with StoreError or CommandError.
   */
  async round(facts: ClusterFacts | null): Promise<{ readonly sent: number; readonly wantsPending: boolean }> {
    if (facts !== null) this.parts.asked.look(facts, this.parts.now().getTime());
    const choices = await this.parts.choices();
    const round: Round = { mailer: null, sent: 0, isStopped: false };
    const oldest = dayBefore(this.parts.now(), REMEMBERED_DAYS);
    // Future days count, too: the clock may have been set back.
    this.days = this.parts.ledger.days().filter((day) => day >= oldest);
    this.overBefore = this.over;
    this.over = new Map();
    let wantsPending = false;
    try {
      for (const risk of facts?.risks ?? [])
        if (choices.get(risk.owner)?.also.includes('at-risk') === true)
          await this.warn(round, facts?.cluster ?? '', risk);
      for (const wanted of [...this.askedEnds(), ...wantedEnds(choices)])
        if (await this.ended(round, wanted, facts)) wantsPending = true;
    } finally {
      round.mailer?.close();
    }
    this.parts.ledger.forgetBefore(oldest, { unsettled: true });
    return { sent: round.sent, wantsPending };
  }

  /** The owners of jobs that asked for a mail at submission. */
  private askedEnds(): readonly WantedEnds[] {
    return [...groupBy(this.parts.asked.all(), ({ owner }) => owner)].map(([owner, jobs]) => ({
      owner,
      since: Math.min(...jobs.map(({ since }) => since)) - CLOCKS_APART_MS,
      jobs: new Set(jobs.map(({ cluster, job }) => askedKey(cluster, job))),
    }));
  }

  private async ended(round: Round, wanted: WantedEnds, facts: ClusterFacts | null): Promise<boolean> {
    const { reader, settings, host, now, asked } = this.parts;
    const { owner, since, jobs } = wanted;
    const stop = jobs === null ? turnedOn(host) : ASKED_FOR;
    const at = now().getTime();
    let wantsPending = false;
    for (const job of await endedJobs(owner, Math.max(since, at - LOOK_BACK_MS), at, reader)) {
      if (jobs?.has(askedKey(job.cluster, job.job)) === false) continue;
      const state = stateOfJob(job, facts, at);
      const what = `${job.cluster} ${job.job} ${job.submittedAt}`;
      const isWhole = !job.mayGoOn || this.isWhole(what, state, at);
      if (state === 'open' || (state === 'ask' && wantsPending)) continue;
      const mail: MailName = { kind: 'job', to: `${owner} ${what}` };
      if (!this.isKnownGone(mail) && this.mustWait(round, 'job', owner)) continue;
      if (this.isGone(mail)) {
        asked.forget(job.cluster, job.job);
        continue;
      }
      wantsPending ||= state === 'ask';
      if (state !== 'over' || !isWhole) continue;
      await this.send(round, { kind: 'job', owner, what }, () =>
        endedMail(job, reader, { dialect: settings.grid_engine, stop, now: now() }),
      );
      if (this.isGone(mail)) asked.forget(job.cluster, job.job);
    }
    return wantsPending;
  }

  /** Whether a job of which more might come has been over long enough for all its records; to be called each round. */
  private isWhole(what: string, state: ReturnType<typeof stateOfJob>, at: number): boolean {
    const since = state === 'open' ? undefined : (this.overBefore.get(what) ?? (state === 'over' ? at : undefined));
    if (since === undefined) return false;
    this.over.set(what, Math.min(since, at));
    return at - since >= RECORDS_COME_MS;
  }

  private warn(round: Round, cluster: string, risk: RiskFact): Promise<void> {
    const make = (): Promise<MailText> => Promise.resolve(riskMail(risk, this.parts.host));
    return this.send(round, { kind: 'risk', owner: risk.owner, what: `${cluster} ${risk.job} ${risk.reason}` }, make);
  }

  private async send(round: Round, { kind, owner, what }: Subject, make: () => Promise<MailText>): Promise<void> {
    const { ledger, log, now, settings } = this.parts;
    const name: MailName = { kind, to: `${owner} ${what}` };
    if (this.mustWait(round, kind, owner) || this.isGone(name)) return;
    const to = ownerAddress(owner, settings.mail_domain);
    if (to === null) {
      this.remember(name);
      log(`no mail for the owner "${owner}": no address can be made of that name`);
      return;
    }
    const mailer = (round.mailer ??= this.parts.mailer());
    const id = messageId([kind, owner, what], mailer.domain);
    const { came, stop } = await sendOnce({ ledger, mailer, trouble: log }, formatDay(now()), name, async () => ({
      from: mailer.from,
      to,
      id,
      date: now(),
      ...(await make()),
    }));
    round.isStopped = stop;
    if (came !== 'left') this.remember(name);
    if (came === 'sent') round.sent++;
    this.times.set(`${kind} ${owner}`, [...this.recent(kind, owner), now().getTime()]);
  }

  /** Whether no mail of this kind can go to the owner now. Checked first, as asking the ledger reads files. */
  private mustWait(round: Round, kind: Kind, owner: string): boolean {
    return round.isStopped || this.recent(kind, owner).length >= MOST_AN_HOUR[kind];
  }

  private recent(kind: Kind, owner: string): readonly number[] {
    const from = this.parts.now().getTime() - HOUR_MS;
    return (this.times.get(`${kind} ${owner}`) ?? []).filter((at) => at > from);
  }

  private isKnownGone({ kind, to }: MailName): boolean {
    return this.gone.has(`${kind} ${to}`);
  }

  private isGone(name: MailName): boolean {
    if (this.isKnownGone(name)) return true;
    const isGone = this.days.some((day) => this.parts.ledger.stateOf(day, name) !== 'open');
    if (isGone) this.remember(name);
    return isGone;
  }

  private remember({ kind, to }: MailName): void {
    if (this.gone.size >= MOST_KNOWN) this.gone.clear();
    this.gone.add(`${kind} ${to}`);
  }
}
