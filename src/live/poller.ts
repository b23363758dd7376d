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

/** What decides when a query may be made again, beside its times in the snapshot. */
export interface QueryHistory {
  /** How often it has failed since it last went well. */
  readonly failures: number;
  /** ms that the last one took. */
  readonly tookMs: number;
  /** qmaster could not be had at all: other queries would fare no better. */
  readonly unreachable: boolean;
}

/** A snapshot and how it came about: all that the next poll needs to know, whichever process makes it. */
export interface PollState {
  readonly snapshot: Snapshot;
  readonly history: Readonly<Record<Query, QueryHistory>>;
}

export interface PollRules {
  /** ms between two of `hosts`, `running`, `pending`. */
  readonly intervalMs: number;
  /** ms between two of `details`. */
  readonly usageIntervalMs: number;
  /** So much too early is not too early, for who asks at fixed times; default 0. */
  readonly slackMs?: number;
  /** No other query is made; left out: all are. */
  readonly queries?: readonly Query[];
}

export interface PollTools {
  readonly run: RunClient;
  readonly readers: Readers;
  readonly now: () => number;
}

const FIRST_BACK_OFF_MS = 10_000;
const MOST_BACK_OFF_MS = 300_000;

/** A query that takes qmaster long is made more seldom: qmaster is not busy with us for more than a sixth of its time. */
const REST_TIMES = 5;

/** Argument lists may have 128 KiB a piece; 500 ids of ten digits are far below. */
const BATCH = 500;

const EMPTY: Answer<never> = { at: null, value: [] as never, problem: null, triedAt: null };
const NEW: QueryHistory = { failures: 0, tookMs: 0, unreachable: false };

/** Nothing has been asked yet. */
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

/** A try in the future comes of a clock that was set back. */
function isDue(query: Query, { snapshot, history }: PollState, rules: PollRules, now: number): boolean {
  const triedAt = snapshot[query]?.triedAt ?? null;
  if (triedAt === null || triedAt > now) return true;
  return triedAt + pauseOf(query, history[query], rules) - (rules.slackMs ?? 0) <= now;
}

/**
 * The queries whose time has come. `running` finds out whether qmaster can be had: as long as it can't, the others wait
 * with it, and come at once when it is back.
 */
export function dueQueries(state: PollState, rules: PollRules, now: number, pending: boolean): ReadonlySet<Query> {
  const { queries = QUERIES } = rules;
  const due = queries.filter((query) => (query !== 'pending' || pending) && isDue(query, state, rules, now));
  return new Set(state.history.running.unreachable && !due.includes('running') ? [] : due);
}

function failed<T>(answer: Answer<T> | null, empty: T, problem: string, triedAt: number | null): Answer<T> {
  return { at: answer?.at ?? null, value: answer?.value ?? empty, problem, triedAt };
}

function after(history: QueryHistory, { problem, tookMs, unreachable }: ClientAnswer): QueryHistory {
  return { failures: problem === null ? 0 : history.failures + 1, tookMs, unreachable };
}

/** Jobs that run, each once. */
function runningIds(running: readonly ListedJob[]): readonly number[] {
  return [...new Set(running.map(({ job }) => job))];
}

/** What a poll has met with so far. */
interface Met {
  dialect: Dialect;
  /** One query that fails is told for the others, too: nobody waits for qmaster's silence three times over. */
  obstacle: string | null;
}

/** Makes the queries whose time has come, one after the other; what fails keeps its last good answer. Never rejects. */
export async function poll(
  before: PollState,
  rules: PollRules,
  tools: PollTools,
  pending: boolean,
  signal?: AbortSignal,
): Promise<PollState> {
  const due = dueQueries(before, rules, tools.now(), pending);
  const history = { ...before.history };
  let { snapshot } = before;
  const met: Met = { dialect: snapshot.dialect, obstacle: null };

  const stopped = (): boolean => signal?.aborted === true;
  const noteDialect = (answer: ClientAnswer): void => {
    if (answer.end.dialect !== 'unknown') met.dialect = answer.end.dialect;
  };
  const ask = async <T>(
    query: 'hosts' | 'running' | 'pending',
    client: 'qhost' | 'qstat',
    args: readonly string[],
    reader: (onItem: (item: T) => void) => AnswerReader,
    last: Answer<readonly T[]> | null,
  ): Promise<Answer<readonly T[]>> => {
    if (stopped()) return last ?? EMPTY;
    if (met.obstacle !== null) return failed(last, [], met.obstacle, last?.triedAt ?? null);
    const triedAt = tools.now();
    const items: T[] = [];
    const answer = await tools.run(
      client,
      args,
      reader((item) => items.push(item)),
      signal,
    );
    // A query that we gave up ourselves is no failure of Grid Engine's.
    if (stopped()) return last ?? EMPTY;
    history[query] = after(history[query], answer);
    if (answer.problem !== null) {
      if (answer.unreachable) met.obstacle = answer.problem;
      return failed(last, [], answer.problem, triedAt);
    }
    noteDialect(answer);
    return { at: triedAt, value: items, problem: null, triedAt };
  };

  if (due.has('running')) {
    const args = ['-u', '*', '-s', 'rs', '-r', '-ext', '-urg', '-xml'];
    snapshot = { ...snapshot, running: await ask('running', 'qstat', args, tools.readers.jobList, snapshot.running) };
  }
  if (due.has('hosts')) {
    const args = ['-F', '-q', '-j', '-xml'];
    snapshot = { ...snapshot, hosts: await ask('hosts', 'qhost', args, tools.readers.qhost, snapshot.hosts) };
  }
  snapshot = { ...snapshot, details: await details() };
  if (due.has('pending')) {
    const args = ['-u', '*', '-s', 'p', '-r', '-ext', '-urg', '-xml'];
    snapshot = { ...snapshot, pending: await ask('pending', 'qstat', args, tools.readers.jobList, snapshot.pending) };
  }
  return { snapshot: { ...snapshot, dialect: met.dialect }, history };

  /** Usage of the jobs that run. */
  async function details(): Promise<Snapshot['details']> {
    const last = snapshot.details;
    const ids = runningIds(snapshot.running.value);
    const now = tools.now();
    if (!due.has('details') || stopped()) return last;
    if (met.obstacle !== null) return failed(last, [], met.obstacle, last.triedAt);
    // Nothing is known of what runs: there is nobody to ask for.
    if (snapshot.running.at === null) return last;

    const found = new Map<number, JobDetail>();
    const sum = { problem: null as string | null, tookMs: 0, unreachable: false };
    for (let from = 0; from < ids.length && sum.problem === null; from += BATCH) {
      const batch = await jobDetails(ids.slice(from, from + BATCH), tools, signal);
      if (stopped()) return last;
      sum.tookMs += batch.tookMs;
      sum.problem = batch.problem;
      sum.unreachable = batch.unreachable;
      for (const job of batch.jobs) found.set(job.job, job);
    }
    const { problem } = sum;
    history.details = {
      failures: problem === null ? 0 : history.details.failures + 1,
      tookMs: sum.tookMs,
      unreachable: sum.unreachable,
    };
    if (problem !== null) {
      if (sum.unreachable) met.obstacle = problem;
      return failed(last, [], problem, now);
    }
    return { at: now, value: ids.flatMap((id) => found.get(id) ?? []), problem: null, triedAt: now };
  }
}
