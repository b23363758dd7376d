import { withDerived } from '../../record/efficiency';
import { arrangeAttempts, ATTEMPT_FIELDS } from '../../accounting/attempts';
import { briefRecords, withOwnWords } from '../../accounting/tasks';
import type {
  AccountingReader,
  JobAnswer,
  JobAttempt,
  JobQuery,
  NodesQuery,
  RecordsQuery,
  RunningQuery,
  TaskTableQuery,
} from '../../accounting/store';
import type { SummaryQuery } from '../../accounting/summary';
import type { FieldName } from '../../record/fields';
import type { StoredRecord } from '../../record/merge';
import type { Dialect } from '../../gridengine/dialect';
import { escapeJson } from '../../report/format/escape';
import type { ClassFields } from '../../report/advice/class-advice';
import { ClassHistory } from '../../report/advice/class-history';
import { nextRequests, type NextRequest } from '../../report/advice/next-request';
import { Accounts, type FindJobs } from '../../report/records/accounts';
import type { Account } from '../../report/records/json';
import { withClasses, type Classes } from '../../report/rules/judge';
import { kindsNear } from '../../report/rules/kinds';
import { loadRules } from '../../report/rules/rule-set';
import { causeAccounts } from '../../report/why/causes';
import { RECORD_SCHEMA } from '../../record/record';
import { answerArray, type ArrayQuery } from './answer-array';
import { answerClass, type ClassQuery } from './answer-class';
import { MOST_RECORDS } from './answer-shapes';
import { HttpProblem } from '../http/http-problem';
import { redactRecords } from '../access/redaction';
import { sharedProjects } from '../access/projects';
import { mayAskFor, seesAll, type Access } from '../access/access';
import { visibleRecords, visibleSummary } from '../access/visible-answers';

/** What callers can ask the accounting DB. */
export type AccountingQuery =
  | { readonly what: 'job'; readonly query: JobQuery; readonly dialect?: Dialect; readonly rulesFile?: string }
  | { readonly what: 'array'; readonly query: ArrayQuery; readonly dialect?: Dialect; readonly rulesFile?: string }
  | { readonly what: 'tasks'; readonly query: TaskTableQuery }
  | { readonly what: 'class'; readonly query: ClassQuery }
  /** `nextTime`: adds to each record what to request for the next run. */
  | { readonly what: 'records'; readonly query: RecordsQuery; readonly nextTime?: boolean }
  | { readonly what: 'summary'; readonly query: SummaryQuery & { readonly limit: number } }
  | { readonly what: 'running'; readonly query: RunningQuery }
  | { readonly what: 'nodes'; readonly query: NodesQuery }
  /** The memory to request for jobs of a kind. */
  | { readonly what: 'prediction'; readonly query: { readonly fields: ClassFields; readonly now: number } }
  /** For the server itself: the projects whose jobs this user may see. */
  | { readonly what: 'projects'; readonly query: { readonly user: string; readonly now: number } };

/** At most this many bad ends are explained in one answer: about 3 MB of JSON. */
export const MOST_CAUSES = 1000;

/** A search that finds only records that the caller may see. */
function finder(access: Access, reader: AccountingReader): (asked: RecordsQuery) => Promise<readonly StoredRecord[]> {
  return async (asked) => (await visibleRecords(asked, access, reader)).records;
}

/** A record in its JSON form (`answer-shapes.ts`). */
function given({ record, ended, provenance }: StoredRecord): object {
  return { ...withDerived(record), ended, provenance };
}

/** The fields that tell which runs a job has, and who may see them. */
const RUN_FIELDS: readonly FieldName[] = [...ATTEMPT_FIELDS, 'status', 'project'];

/** Rejects with HttpProblem if the job has too many records; only RUN_FIELDS are read to find that out. */
async function visibleJob(query: JobQuery, access: Access, reader: AccountingReader): Promise<JobAnswer> {
  // Redacted first: the newest job of this number is the newest that the caller may see.
  const arranged = ({ records }: JobAnswer): JobAnswer => arrangeAttempts(redactRecords(records, access), query);
  const all = { ...query, all: true };
  const found = await reader.job({ ...all, most_whole: MOST_RECORDS, fields: RUN_FIELDS });
  const answer = arranged(found);
  if (answer.records.length > MOST_RECORDS)
    throw new HttpProblem(
      413,
      `the job has ${answer.records.length} records, above ${MOST_RECORDS}; ask /v1/array/JOB, or task by task: /v1/job/JOB.TASK`,
    );
  return found.few_fields === true ? arranged(await reader.job(all)) : answer;
}

type JudgedRun = JobAttempt & { readonly next_time: NextRequest | null; readonly classes: Classes };

/** The runs with what to request next, and their classes by the site's rules. */
async function judgedRuns(
  runs: readonly JobAttempt[],
  find: ReturnType<typeof finder>,
  history: ClassHistory,
  rulesFile: string,
): Promise<readonly JudgedRun[]> {
  const records = runs.map(({ record }) => record);
  const [kinds, rules] = [await kindsNear(records, find), await loadRules(rulesFile)];
  return withClasses(nextRequests(await history.advise(runs)), rules, kinds.of);
}

const givenRun = (run: JudgedRun): object => ({
  ...given(run),
  attempt: run.attempt,
  attempts: run.attempts,
  incarnation: run.incarnation,
  next_time: run.next_time,
  classes: run.classes,
});

async function answerJob(
  { query, dialect, rulesFile = '' }: AccountingQuery & { readonly what: 'job' },
  access: Access,
  reader: AccountingReader,
): Promise<object> {
  const answer = await visibleJob(query, access, reader);
  if (answer.records.length === 0 && answer.newer_incarnations + answer.older_incarnations === 0)
    throw new HttpProblem(404, 'no such job is known here; it appears when it ends');
  const find = finder(access, reader);
  const runs = await judgedRuns(answer.records, find, new ClassHistory(find, Date.now()), rulesFile);
  const causes = causeAccounts(runs, dialect);
  return {
    schema: RECORD_SCHEMA,
    records: runs.map(givenRun),
    causes: causes.slice(0, MOST_CAUSES),
    more_causes: causes.length > MOST_CAUSES,
    older_incarnations: answer.older_incarnations,
    newer_incarnations: answer.newer_incarnations,
  };
}

function checkOwner(owner: string | undefined, access: Access): void {
  if (owner === undefined || mayAskFor(owner, access)) return;
  const shown = access.level === 'own' ? 'you your own jobs only' : 'you the jobs of others without owners';
  throw new HttpProblem(403, `this site shows ${shown}; ask as their owner, or as an admin`);
}

/** What to request for the next run of each record, by all runs of its job that the caller may see. */
async function nextTimes(
  records: readonly StoredRecord[],
  access: Access,
  reader: AccountingReader,
): Promise<readonly Pick<Account, 'next_time'>[]> {
  const findJobs: FindJobs = async (numbers, fields) =>
    redactRecords(await reader.jobs(numbers, fields && [...fields, 'owner', 'project']), access);
  const history = new ClassHistory(finder(access, reader), Date.now());
  const accounts = await new Accounts(findJobs, history, null).of(records.map(({ record }) => record));
  return accounts.map(({ next_time }) => ({ next_time }));
}

async function answerRecords(
  { query, nextTime = false }: AccountingQuery & { readonly what: 'records' },
  access: Access,
  reader: AccountingReader,
): Promise<object> {
  checkOwner(query.owner, access);
  const { records, totals } = await visibleRecords(query, access, reader);
  const next = nextTime ? await nextTimes(records, access, reader) : [];
  return {
    schema: RECORD_SCHEMA,
    records: records.map((stored, index) => ({ ...given(stored), ...next[index] })),
    totals,
    shown: access.level,
  };
}

async function answerSummary(
  query: SummaryQuery & { readonly limit: number },
  access: Access,
  reader: AccountingReader,
): Promise<object> {
  checkOwner(query.owner, access);
  // One group more than is listed shows whether there are more.
  const { groups, ...sums } = await visibleSummary({ ...query, limit: query.limit + 1 }, access, reader);
  return {
    schema: RECORD_SCHEMA,
    shown: access.level,
    by: query.by,
    groups: groups.slice(0, query.limit),
    more: groups.length > query.limit,
    ...sums,
  };
}

/** Rejects with HttpProblem unless the caller may see every run unredacted. */
async function answerTasks(query: TaskTableQuery, access: Access, reader: AccountingReader): Promise<object> {
  const fields = [...new Set([...query.fields, 'owner', 'project'] as const)];
  const table = (await reader.taskTable?.({ ...query, fields })) ?? null;
  const isWhole =
    table !== null &&
    table.ids.length > 0 &&
    [...briefRecords(table, ['owner', 'project'])].every((record) => seesAll(record, access));
  if (!isWhole) throw new HttpProblem(404, 'this is not an array of many tasks that can be answered so; ask /v1/job');
  return { schema: RECORD_SCHEMA, ...withOwnWords(table) };
}

async function answerRunning(query: RunningQuery, access: Access, reader: AccountingReader): Promise<object> {
  const records = redactRecords(await reader.running(query), access);
  return { schema: RECORD_SCHEMA, records: records.map(given) };
}

async function answer(question: AccountingQuery, access: Access, reader: AccountingReader): Promise<object> {
  switch (question.what) {
    case 'job':
      return answerJob(question, access, reader);
    case 'array': {
      const { query, dialect, rulesFile = '' } = question;
      const find = finder(access, reader);
      const history = new ClassHistory(find, Date.now());
      return answerArray(query, {
        ...{ reader, dialect, history },
        sees: (record) => seesAll(record, access),
        give: async (runs) => (await judgedRuns(runs, find, history, rulesFile)).map(givenRun),
      });
    }
    case 'tasks':
      return answerTasks(question.query, access, reader);
    case 'class':
      checkOwner(question.query.fields.owner, access);
      return answerClass(question.query, new ClassHistory(finder(access, reader), Date.now()), reader);
    case 'records':
      return answerRecords(question, access, reader);
    case 'summary':
      return answerSummary(question.query, access, reader);
    case 'running':
      return answerRunning(question.query, access, reader);
    case 'nodes':
      return { schema: RECORD_SCHEMA, nodes: await reader.nodes(question.query) };
    case 'prediction':
      return {
        prediction: await new ClassHistory(finder(access, reader), question.query.now).memoryOf(question.query.fields),
      };
    case 'projects':
      return { projects: await sharedProjects(question.query.user, question.query.now, reader) };
  }
}

/** The answer as JSON, as the caller may see it. Rejects with HttpProblem or StoreError. */
export async function answerQuery(
  question: AccountingQuery,
  access: Access,
  reader: AccountingReader,
): Promise<string> {
  return `${escapeJson(JSON.stringify(await answer(question, access, reader)))}\n`;
}
