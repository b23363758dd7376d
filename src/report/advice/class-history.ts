import type { RecordsQuery } from '../../accounting/store';
import type { StoredRecord } from '../../record/merge';

const DAY_MS = 86_400_000;
/** What ran longer ago says little. */
const LOOK_BACK_DAYS = 365;
const MOST_RECORDS = 400;
/** Questions of one command or answer. */
const MOST_QUESTIONS = 50;
/** A server takes no longer one. */
const LONGEST_NAME = 512;

type FindRecords = (query: RecordsQuery) => Promise<readonly StoredRecord[]>;

/** The past runs of jobs by owner and name, asked for once each. */
export class ClassHistory {
  private readonly answers = new Map<string, Promise<readonly StoredRecord[]>>();

  /** `find` as a store's `records`, which may reject with StoreError; `now`: ms. */
  constructor(
    private readonly find: FindRecords,
    private readonly now: number,
  ) {}

  /** The latest records of the owner's jobs of names that differ in their digits only; none: too much was asked for. */
  runsLike(owner: string, jobName: string): Promise<readonly StoredRecord[]> {
    const pattern = jobName.replace(/\d+/g, '*');
    if (owner === '' || pattern === '' || pattern.length > LONGEST_NAME) return Promise.resolve([]);
    const key = JSON.stringify([owner, pattern]);
    const known = this.answers.get(key);
    if (known !== undefined) return known;
    if (this.answers.size >= MOST_QUESTIONS) return Promise.resolve([]);
    const answer = this.find({
      owner,
      job_name: pattern,
      states: ['finished', 'unsampled', 'lost'],
      since: this.now - LOOK_BACK_DAYS * DAY_MS,
      until: this.now + 1,
      limit: MOST_RECORDS,
      totals: false,
    });
    this.answers.set(key, answer);
    return answer;
  }
}
