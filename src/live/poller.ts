import type { ClientAnswer, RunClient } from '../gridengine/client-command';
import type { Dialect } from '../gridengine/dialect';
import type { QhostHost } from '../gridengine/qhost/qhost-report';
import type { JobDetail, SchedulerReason } from '../gridengine/qstat/job-detail';
import type { ListedJob } from '../gridengine/qstat/job-list';
import type { AnswerReader } from '../gridengine/reading';
import { jobDetails } from './job-details';
import type { Answer, Snapshot } from './snapshot';

export interface Readers {
  readonly qhost: (onHost: (host: QhostHost) => void) => AnswerReader;
  readonly jobList: (onJob: (job: ListedJob) => void) => AnswerReader;
  readonly jobDetails: (onJob: (job: JobDetail) => void, onReason?: (reason: SchedulerReason) => void) => AnswerReader;
}

/** The queries that make a snapshot. */
export const QUERIES = ['hosts', 'running', 'details', 'pending'] as const;
export type Query = (typeof QUERIES)[number];

/** What determines when a query may be made again, besides its times in the snapshot. */
export interface QueryHistory {
  /** How many times it has failed in a row. */
  readonly failures: number;
  /** ms that the last query took. */
  readonly tookMs: number;
  /** qmaster could not be reached at all, so other queries would fail, too. */
  readonly unreachable: boolean;
}

/** A snapshot and its history: all that the next poll needs, whichever process makes it. */
export interface PollState {
  readonly snapshot: Snapshot;
  readonly history: Readonly<Record<Query, QueryHistory>>;
}

export interface PollRules {
  /** ms between two queries of the kinds `hosts`, `running`, `pending`. */
  readonly intervalMs: number;
  /** ms between two `details` queries. */
  readonly usageIntervalMs: number;
  /** A query may be made so much early, for callers that poll at fixed times; default 0. */
  readonly slackMs?: number;
  /** Only these queries are made; left out: all. */
  readonly queries?: readonly Query[];
}

export interface PollTools {
  readonly run: RunClient;
  readonly readers: Readers;
  readonly now: () => number;
}

const FIRST_BACK_OFF_MS = 10_000;
const MOST_BACK_OFF_MS = 300_000;

/** Slow queries are made less often, so that qmaster spends at most a sixth of its time on us. */
const REST_TIMES = 5;

/** Jobs per `qstat -j`: one argument may have 128 KiB; 500 ids of ten digits are far below. */
const BATCH = 500;

const EMPTY: Answer<never> = { at: null, value: [] as never, problem: null, triedAt: null };
const NEW: QueryHistory = { failures: 0, tookMs: 0, unreachable: false };

/** The state before anything has been asked. */
export function newPollState(cluster: string): PollState {
  return {
    snapshot: { cluster, dialect: 'unknown', hosts: EMPTY, running: EMPTY, details: EMPTY, pending: null },
    history: { hosts: NEW, running: NEW, details: NEW, pending: NEW },
  };
}

/** ms from one try to the next. */
function pauseOf(query: Query, { failures, tookMs }: QueryHistory, rules: PollRules): number {
  const interval = query === 'details' ? rules.usageIntervalMs : rules.intervalMs;
  const rested = Math.max(interval, REST_TIMES * tookMs);
  if (failures === 0) return rested;
  // 10 s, 20 s, 40 s ... 5 min.
  return Math.max(interval, Math.min(MOST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** Math.min(failures - 1, 10)));
}

/** A last try in the future means that the clock was set back. */
function isDue(query: Query, { snapshot, history }: PollState, rules: PollRules, now: number): boolean {
  const triedAt = snapshot[query]?.triedAt ?? null;
  if (triedAt === null || triedAt > now) return true;
  return triedAt + pauseOf(query, history[query], rules) - (rules.slackMs ?? 0) <= now;
}

/**
 * The queries that are due. `running` finds out whether qmaster can be reached: as long as it can't, the other queries
 * wait, too, and are made at once when qmaster is back.
 */
export function dueQueries(state: PollState, rules: PollRules, now: number, pending: boolean): ReadonlySet<Query> {
  const { queries = QUERIES } = rules;
  const due = queries.filter((query) => (query !== 'pending' || pending) && isDue(query, state, rules, now));
  return new Set(state.history.running.unreachable && !due.includes('running') ? [] : due);
}

function failed<T>(answer: Answer<readonly T[]> | null, problem: string, triedAt: number | null): Answer<readonly T[]> {
  return { at: answer?.at ?? null, value: answer?.value ?? [], problem, triedAt };
}

/** Makes the queries that are due, one after another; a failed one keeps its last good answer. Never rejects. */
export async function poll(
  before: PollState,
  rules: PollRules,
  tools: PollTools,
  wantsPending: boolean,
  signal?: AbortSignal,
): Promise<PollState> {
  const now = tools.now();
  const due = dueQueries(before, rules, now, wantsPending);
  const round = new PollRound(before, tools, signal);
  let { running, hosts, details, pending } = before.snapshot;
  // Nobody asks for waiting jobs any more: an old list would count in figures of now.
  if (!wantsPending && isDue('pending', before, rules, now)) pending = null;
  const askPending = async (): Promise<Snapshot['pending']> =>
    due.has('pending') ? await round.list(jobsQuery('pending', 'p', tools), pending) : pending;
  // Before the list of running jobs: one that starts between the two is in both, not in neither.
  // Where qmaster did not answer, the running jobs show first whether it does now.
  const isProbe = before.history.running.unreachable;
  if (!isProbe) pending = await askPending();
  if (due.has('running')) running = await round.list(jobsQuery('running', 'rs', tools), running);
  if (due.has('hosts')) hosts = await round.list(hostsQuery(tools), hosts);
  if (due.has('details')) details = await round.details(running, details);
  if (isProbe) pending = await askPending();
  const { dialect, history } = round;
  const snapshot = { ...before.snapshot, dialect, running, hosts, details };
  return { snapshot: { ...snapshot, pending: pending && withoutStarted(pending, running) }, history };
}

/** The waiting jobs without those that have started since; of an array job, tasks may wait beside those that run. */
function withoutStarted(pending: Answer<readonly ListedJob[]>, running: Snapshot['running']): typeof pending {
  if ((running.at ?? 0) < (pending.at ?? 0)) return pending;
  const started = new Set(running.value.map(({ job }) => job));
  const waits = ({ job, tasks }: ListedJob): boolean => tasks !== null || !started.has(job);
  return pending.value.every(waits) ? pending : { ...pending, value: pending.value.filter(waits) };
}

/** A query for a list that one of Grid Engine's clients prints. */
interface ListQuery<T> {
  readonly query: 'hosts' | 'running' | 'pending';
  readonly client: 'qhost' | 'qstat';
  readonly args: readonly string[];
  readonly reader: (onItem: (item: T) => void) => AnswerReader;
}

function jobsQuery(query: 'running' | 'pending', states: string, { readers }: PollTools): ListQuery<ListedJob> {
  const args = ['-u', '*', '-s', states, '-r', '-ext', '-urg', '-xml'];
  return { query, client: 'qstat', args, reader: readers.jobList };
}

function hostsQuery({ readers }: PollTools): ListQuery<QhostHost> {
  return { query: 'hosts', client: 'qhost', args: ['-F', '-q', '-j', '-xml'], reader: readers.qhost };
}

/** The queries of one poll. */
class PollRound {
  readonly history: Record<Query, QueryHistory>;
  dialect: Dialect;
  /** Why qmaster can't be reached; the remaining queries then fail at once, instead of each waiting for a timeout. */
  private obstacle: string | null = null;

  constructor(
    before: PollState,
    private readonly tools: PollTools,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.history = { ...before.history };
    this.dialect = before.snapshot.dialect;
  }

  private isStopped(): boolean {
    return this.signal?.aborted === true;
  }

  async list<T>(
    { query, client, args, reader }: ListQuery<T>,
    last: Answer<readonly T[]> | null,
  ): Promise<Answer<readonly T[]>> {
    if (this.isStopped()) return last ?? EMPTY;
    const triedAt = this.tools.now();
    if (this.obstacle !== null) {
      if (query !== 'running') return failed(last, this.obstacle, last?.triedAt ?? null);
      this.note(query, { problem: this.obstacle, tookMs: 0, unreachable: true });
      return failed(last, this.obstacle, triedAt);
    }
    const items: T[] = [];
    const answer = await this.tools.run(
      client,
      args,
      reader((item) => items.push(item)),
      this.signal,
    );
    // A query that we aborted ourselves is no failure of Grid Engine.
    if (this.isStopped()) return last ?? EMPTY;
    this.note(query, answer);
    if (answer.problem !== null) return failed(last, answer.problem, triedAt);
    if (answer.end.dialect !== 'unknown') this.dialect = answer.end.dialect;
    return { at: triedAt, value: items, problem: null, triedAt };
  }

  /** Asks for the usage of running jobs. */
  async details(running: Snapshot['running'], last: Snapshot['details']): Promise<Snapshot['details']> {
    const ids = [...new Set(running.value.map(({ job }) => job))];
    const now = this.tools.now();
    if (this.isStopped()) return last;
    if (this.obstacle !== null) return failed(last, this.obstacle, last.triedAt);
    // Running jobs are not known yet, so there is nothing to ask about.
    if (running.at === null) return last;
    const found = new Map<number, JobDetail>();
    const sum = { problem: null as string | null, tookMs: 0, unreachable: false };
    for (let from = 0; from < ids.length && sum.problem === null; from += BATCH) {
      const batch = await jobDetails(ids.slice(from, from + BATCH), this.tools, this.signal);
      if (this.isStopped()) return last;
      sum.tookMs += batch.tookMs;
      sum.problem = batch.problem;
      sum.unreachable = batch.unreachable;
      for (const job of batch.jobs) found.set(job.job, job);
    }
    this.note('details', sum);
    if (sum.problem !== null) return failed(last, sum.problem, now);
    return { at: now, value: ids.flatMap((id) => found.get(id) ?? []), problem: null, triedAt: now };
  }

  private note(
    query: Query,
    { problem, tookMs, unreachable }: Pick<ClientAnswer, 'problem' | 'tookMs' | 'unreachable'>,
  ): void {
    const failures = problem === null ? 0 : this.history[query].failures + 1;
    this.history[query] = { failures, tookMs, unreachable };
    if (problem !== null && unreachable) this.obstacle = problem;
  }
}
