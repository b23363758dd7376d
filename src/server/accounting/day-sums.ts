import { checkJson } from '../../base/shape';
import type { DaySums } from '../../export/prometheus/server-metrics';
import { accessKey, type Access } from '../access/access';
import type { AccountingService } from './accounting-thread';
import { summaryAnswer } from './answer-shapes';

const DAY_MS = 86_400_000;
/** Who scrapes every few seconds does not have the accounting DB read each time. */
const KEEP_MS = 300_000;
const KEEP_NOTHING_MS = 30_000;
/** Series that one dimension may have: those with most requested memory. Every day brings new names of jobs. */
const MOST_GROUPS = { owner: 1000, project: 1000, job_name: 100 } as const;

interface Kept {
  until: number;
  readonly sums: Promise<DaySums | null>;
}

/** Sums of the last 24 hours for each kind of caller, read from the accounting DB once in five minutes. */
export class LastDay {
  readonly #kept = new Map<string, Kept>();

  constructor(
    private readonly accounting: AccountingService,
    private readonly now: () => number,
  ) {}

  /** null: the accounting DB does not answer. Never rejects. */
  sums(access: Access): Promise<DaySums | null> {
    const key = accessKey(access);
    const known = this.#kept.get(key);
    if (known !== undefined && this.now() < known.until) return known.sums;
    for (const [old, { until }] of this.#kept) if (this.now() >= until) this.#kept.delete(old);
    const kept: Kept = { until: Infinity, sums: this.#ask(access) };
    this.#kept.set(key, kept);
    void kept.sums.then((sums) => (kept.until = this.now() + (sums === null ? KEEP_NOTHING_MS : KEEP_MS)));
    return kept.sums;
  }

  async #ask(access: Access): Promise<DaySums | null> {
    try {
      return {
        owner: await this.#groups('owner', access),
        project: await this.#groups('project', access),
        job_name: await this.#groups('job_name', access),
      };
    } catch {
      // The server logs that the accounting DB can't be read, and /metrics says so.
      return null;
    }
  }

  async #groups(by: keyof DaySums, access: Access): Promise<DaySums['owner']> {
    const until = this.now();
    const query = { since: until - DAY_MS, until, by, limit: MOST_GROUPS[by], sort: 'requested_gib_hours' } as const;
    const answer = checkJson(
      summaryAnswer,
      (await this.accounting.ask({ what: 'summary', query }, access)).toString('utf8'),
      'the answer of the accounting DB',
    );
    if (!answer.ok) throw new Error(answer.error);
    return answer.value.groups;
  }
}
