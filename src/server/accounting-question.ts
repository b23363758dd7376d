import { withEfficiencies } from '../record/efficiency';
import { arrangeAttempts } from '../accounting/attempts';
import type { AccountingReader, JobQuery, RecordsQuery, RunningQuery } from '../accounting/store';
import type { SummaryQuery } from '../accounting/summary';
import type { StoredRecord } from '../record/merge';
import type { Dialect } from '../gridengine/dialect';
import { escapeJson } from '../report/format/escape';
import { ClassHistory } from '../report/advice/class-history';
import { nextRequests } from '../report/advice/next-request';
import { causeAccounts } from '../report/why/causes';
import { RECORD_SCHEMA } from '../record/record';
import type { GivenAttempt, GivenJob, GivenRecord, GivenRecords, GivenRunning, GivenSummary } from './record-schemas';
import { HttpProblem } from './http-problem';
import { redactRecords } from './redaction';
import { sharedProjects } from './shared-projects';
import { mayAskFor, type Sight } from './sight';
import { visibleRecords, visibleSummary } from './visible-answers';

/** What callers ask of the accounting DB. */
export type Question =
  | { readonly what: 'job'; readonly query: JobQuery; readonly dialect?: Dialect }
  | { readonly what: 'records'; readonly query: RecordsQuery }
  | { readonly what: 'summary'; readonly query: SummaryQuery & { readonly limit: number } }
  | { readonly what: 'running'; readonly query: RunningQuery }
  /** For the server itself: the projects whose jobs this user may see. */
  | { readonly what: 'projects'; readonly query: { readonly user: string; readonly now: number } };

/** Records in one answer: about 20 MB of JSON. */
export const MOST_RECORDS = 10_000;
/** Bad ends that are explained in one: about 3 MB. */
export const MOST_CAUSES = 1000;
/** Groups in one: about 6 MB. */
export const MOST_GROUPS = 10_000;

function given({ record, ended, provenance }: StoredRecord): GivenRecord {
  return { ...withEfficiencies(record), ended, provenance };
}

async function answerJob(
  query: JobQuery,
  dialect: Dialect | undefined,
  sight: Sight,
  reader: AccountingReader,
): Promise<GivenJob> {
  // Which job of this number is the newest is asked of those that the caller may see.
  const { records } = await reader.job({ ...query, all: true });
  const answer = arrangeAttempts(redactRecords(records, sight), query);
  if (answer.records.length === 0 && answer.newer_incarnations + answer.older_incarnations === 0)
    throw new HttpProblem(404, 'no such job is known here; it gets there when it ends');
  if (answer.records.length > MOST_RECORDS)
    throw new HttpProblem(
      413,
      `the job has ${answer.records.length} records, above ${MOST_RECORDS}; ask task by task: /v1/job/JOB.TASK`,
    );
  // Told from what the caller may see, and from nothing else.
  const history = new ClassHistory(async (asked) => (await visibleRecords(asked, sight, reader)).records, Date.now());
  const runs = nextRequests(await history.advise(answer.records));
  const causes = causeAccounts(runs, dialect);
  return {
    schema: RECORD_SCHEMA,
    records: runs.map((stored): GivenAttempt => ({
      ...given(stored),
      attempt: stored.attempt,
      attempts: stored.attempts,
      incarnation: stored.incarnation,
      next_time: stored.next_time,
    })),
    causes: causes.slice(0, MOST_CAUSES),
    more_causes: causes.length > MOST_CAUSES,
    older_incarnations: answer.older_incarnations,
    newer_incarnations: answer.newer_incarnations,
  };
}

function checkOwner(owner: string | undefined, sight: Sight): void {
  if (owner !== undefined && !mayAskFor(owner, sight))
    throw new HttpProblem(403, 'this site shows you your own jobs only; ask as their owner, or as an admin');
}

async function answerRecords(query: RecordsQuery, sight: Sight, reader: AccountingReader): Promise<GivenRecords> {
  checkOwner(query.owner, sight);
  const { records, totals } = await visibleRecords(query, sight, reader);
  return { schema: RECORD_SCHEMA, records: records.map(given), totals, shown: sight.of };
}

async function answerSummary(
  query: SummaryQuery & { readonly limit: number },
  sight: Sight,
  reader: AccountingReader,
): Promise<GivenSummary> {
  checkOwner(query.owner, sight);
  // One more than is told says whether there are more.
  const { groups, ...sums } = await visibleSummary({ ...query, limit: query.limit + 1 }, sight, reader);
  return {
    schema: RECORD_SCHEMA,
    shown: sight.of,
    by: query.by,
    groups: groups.slice(0, query.limit),
    more: groups.length > query.limit,
    ...sums,
  };
}

async function answerRunning(query: RunningQuery, sight: Sight, reader: AccountingReader): Promise<GivenRunning> {
  const records = redactRecords(await reader.running(query), sight);
  return { schema: RECORD_SCHEMA, records: records.map(given) };
}

type Given = GivenJob | GivenRecords | GivenSummary | GivenRunning | { readonly projects: readonly string[] };

async function answer(question: Question, sight: Sight, reader: AccountingReader): Promise<Given> {
  switch (question.what) {
    case 'job':
      return answerJob(question.query, question.dialect, sight, reader);
    case 'records':
      return answerRecords(question.query, sight, reader);
    case 'summary':
      return answerSummary(question.query, sight, reader);
    case 'running':
      return answerRunning(question.query, sight, reader);
    case 'projects':
      return { projects: await sharedProjects(question.query.user, question.query.now, reader) };
  }
}

/** The answer as JSON, as the caller may see it. Rejects with HttpProblem or StoreError. */
export async function answerQuestion(question: Question, sight: Sight, reader: AccountingReader): Promise<string> {
  return `${escapeJson(JSON.stringify(await answer(question, sight, reader)))}\n`;
}
