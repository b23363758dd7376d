import { killedByMemory } from '../../record/cause';
import { groupBy } from '../../base/group-by';
import { nameClass } from '../../record/name-class';
import { jobOf } from '../../accounting/job-records';
import type { AccountingReader } from '../../accounting/store';
import type { Dialect } from '../../gridengine/dialect';
import { recordKeyText, type JobRecord } from '../../record/record';
import type { Prediction } from '../advice/class-advice';
import type { ClassHistory } from '../advice/class-history';
import { asRun, predictionOf } from '../job/job-run';
import { truncate } from '../screen/text-width';
import { formatClock, parseTime } from '../format/local-time';
import { MEMORY_CAUSES } from '../why/hypothesis';
import { whyEnded, type Why } from '../why/why';
import type { Words } from '../why/words';
import { isPart, wholeRun } from './whole-jobs';

/** One run of a job that ended for lack of memory: all its records, and why that is thought. */
interface KilledRun {
  readonly records: readonly [JobRecord, ...JobRecord[]];
  readonly why: Why;
}

/** Jobs of one owner, of names that differ in their digits only. */
export interface KilledFound {
  /** The records of runs that memory ended, at least one. */
  readonly records: readonly JobRecord[];
  /** The runs that were examined one by one. */
  readonly runs: readonly KilledRun[];
  /** The memory that past runs like the first of these predict to be enough; null: no prediction. */
  readonly prediction: Prediction | null;
}

interface KilledJobs {
  readonly found: readonly KilledFound[];
  /** Records that the sums count as ended by memory, but that proved on examination to have another cause. */
  readonly otherwise: number;
}

/** At most so many runs of a line are examined, and fewer of parallel jobs, which may have thousands of records. */
const MOST_RUNS = 30;
const MOST_PARALLEL = 3;

/** Users choose names of any length: longer ones are cut. */
const LONGEST_NAME = 48;

/** Text is only cut here, as each format of the report escapes it; times of day are as in the rest of the report. */
const WORDS: Words = {
  safe: (text) => truncate(text, LONGEST_NAME, '…'),
  clock: (time) => {
    const date = parseTime(time);
    return date === null ? time : formatClock(date);
  },
};

/** Records are grouped by owner and name class; a slave task without a name only with those of its job. */
function lineKey({ owner, job_name: name, pe_task_id: task, job_id: job }: JobRecord): string {
  return JSON.stringify([owner, name === null ? null : nameClass(name), name === null && task !== null ? job : null]);
}

const runKey = (record: JobRecord): string => (isPart(record) ? jobOf(record) : recordKeyText(record));

interface Judged {
  readonly found: Omit<KilledFound, 'prediction'> | null;
  readonly otherwise: number;
}

async function judge(
  reader: Pick<AccountingReader, 'job'>,
  records: readonly JobRecord[],
  dialect: Dialect,
): Promise<Judged> {
  const kept: JobRecord[] = [];
  const runs: KilledRun[] = [];
  let looked = 0;
  let parallel = 0;
  for (const parts of groupBy(records, runKey).values()) {
    const [first, ...rest] = parts;
    if (first === undefined) continue;
    const isWhole = !isPart(first);
    if (looked >= MOST_RUNS || (!isWhole && parallel >= MOST_PARALLEL)) {
      kept.push(...parts);
      continue;
    }
    looked += 1;
    parallel += isWhole ? 0 : 1;
    const [master, ...tasks] = isWhole ? [] : await wholeRun(reader, first);
    const run: KilledRun['records'] = master === undefined ? [first, ...rest] : [master, ...tasks];
    const why = whyEnded(run, WORDS, dialect);
    if (why?.causes.some((cause) => MEMORY_CAUSES.has(cause)) !== true) continue;
    kept.push(...parts);
    runs.push({ records: run, why });
  }
  return { found: kept.length === 0 ? null : { records: kept, runs }, otherwise: records.length - kept.length };
}

/**
 * The groups with most jobs among failed records, of those that memory ended. Runs are explained and advised as by
 * `qmemacct job`; a run is left out if that shows another cause. Rejects with StoreError.
 */
export async function askForKilled(
  reader: Pick<AccountingReader, 'job'>,
  history: ClassHistory,
  failed: readonly JobRecord[],
  dialect: Dialect,
  most: number,
): Promise<KilledJobs> {
  const groups = [...groupBy(failed.filter(killedByMemory), lineKey).values()].sort((a, b) => b.length - a.length);
  const found: KilledFound[] = [];
  let otherwise = 0;
  for (const records of groups) {
    if (found.length >= most) break;
    const judged = await judge(reader, records, dialect);
    otherwise += judged.otherwise;
    if (judged.found === null) continue;
    const own = judged.found.runs[0]?.records ?? [];
    found.push({ ...judged.found, prediction: predictionOf(await history.advise(own.map(asRun))) });
  }
  return { found, otherwise };
}
