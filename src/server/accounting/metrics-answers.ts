import { DAY_MS } from '../../base/units';
import { checkJson, type Shape } from '../../base/shape';
import type { DaySums } from '../../export/prometheus/server-metrics';
import type { NodeHeartbeat } from '../../record/node-status';
import { accessKey, type Access } from '../access/access';
import { cachedLookup } from '../cached-lookup';
import type { AccountingService } from './accounting-thread';
import type { AccountingQuery } from './answer-query';
import { nodesAnswer, summaryAnswer } from './answer-shapes';

const KEEP_SUMS_MS = 300_000;
/** As often as hosts send one. */
const KEEP_HEARTBEATS_MS = 60_000;
/** How long it is remembered that the DB did not answer. */
const KEEP_NOTHING_MS = 30_000;
/** At most this many owners, and as many projects, have series: those with the most requested memory-hours. */
const MOST_GROUPS = 1000;

/** An answer of the accounting DB for each kind of caller; null: the DB does not answer. Never rejects. */
type KeptAnswers<T> = (access: Access) => Promise<T | null>;

/** What /metrics shows of the accounting DB. */
export interface MetricsAnswers {
  /** Sums of the last 24 hours. */
  readonly day: KeptAnswers<DaySums>;
  /** The last heartbeat of each host that sent one in the last seven days. */
  readonly heartbeats: KeptAnswers<readonly NodeHeartbeat[]>;
}

export function newMetricsAnswers(
  accounting: AccountingService,
  mostJobNames: number,
  now: () => number,
): MetricsAnswers {
  const ask = async <T>(question: AccountingQuery, access: Access, shape: Shape<T>): Promise<T> => {
    const text = (await accounting.ask(question, access)).toString('utf8');
    const answer = checkJson(shape, text, 'the answer of the accounting DB');
    if (!answer.ok) throw new Error(answer.error);
    return answer.value;
  };
  /** Keeps answers, so that a scrape every few seconds does not read the accounting DB each time. */
  const kept = <T>(find: (access: Access, until: number) => Promise<T>, keepMs: number): KeptAnswers<T> =>
    // The server logs that the accounting DB can't be read, and /metrics says so.
    cachedLookup((access: Access) => find(access, now()).catch(() => null), now, {
      ...{ keepMs, keepNothingMs: KEEP_NOTHING_MS, nameOf: accessKey },
    });
  const day = async (access: Access, until: number): Promise<DaySums> => {
    const groups = async (by: keyof DaySums, limit: number): Promise<DaySums['owner']> => {
      if (limit === 0) return [];
      const query = { since: until - DAY_MS, until, by, limit, sort: 'requested_gib_hours' } as const;
      return (await ask({ what: 'summary', query }, access, summaryAnswer)).groups;
    };
    return {
      owner: await groups('owner', MOST_GROUPS),
      project: await groups('project', MOST_GROUPS),
      job_name: await groups('job_name', mostJobNames),
    };
  };
  const heartbeats = async (access: Access, until: number): Promise<readonly NodeHeartbeat[]> =>
    (await ask({ what: 'nodes', query: { since: until - 7 * DAY_MS } }, access, nodesAnswer)).nodes;
  return { day: kept(day, KEEP_SUMS_MS), heartbeats: kept(heartbeats, KEEP_HEARTBEATS_MS) };
}
