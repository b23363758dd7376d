import { arrangeAttempts } from '../accounting/attempts';
import type { AccountingReader, JobQuery, RecordsQuery, RunningQuery } from '../accounting/store';
import type { StoredRecord } from '../accounting/merge';
import { escapeJson } from '../report/escape';
import { RECORD_SCHEMA } from '../sampler/record';
import type { GivenAttempt, GivenJob, GivenOwner, GivenRecord, GivenRunning } from './record-schemas';
import { HttpProblem } from './http-problem';
import { mayAskFor, redactRecords } from './redaction';
import type { Sight } from './sight';

type OwnerQuery = RecordsQuery & { readonly owner: string };

/** What callers ask of the accounting DB. */
export type Question =
  | { readonly what: 'job'; readonly query: JobQuery }
  | { readonly what: 'owner'; readonly query: OwnerQuery }
  | { readonly what: 'running'; readonly query: RunningQuery };

/** Records in one answer: about 20 MB of JSON. */
export const MOST_RECORDS = 10_000;

function given({ record, ended, provenance }: StoredRecord): GivenRecord {
  return { ...record, ended, provenance };
}

async function answerJob(query: JobQuery, sight: Sight, reader: AccountingReader): Promise<GivenJob> {
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
  return {
    schema: RECORD_SCHEMA,
    records: answer.records.map((stored): GivenAttempt => ({
      ...given(stored),
      attempt: stored.attempt,
      attempts: stored.attempts,
      incarnation: stored.incarnation,
    })),
    older_incarnations: answer.older_incarnations,
    newer_incarnations: answer.newer_incarnations,
  };
}

async function answerOwner(query: OwnerQuery, sight: Sight, reader: AccountingReader): Promise<GivenOwner> {
  if (!mayAskFor(query.owner, sight))
    throw new HttpProblem(403, 'this site shows you your own jobs only; ask as their owner, or as an admin');
  const { records, totals } = await reader.records(query);
  return { schema: RECORD_SCHEMA, records: redactRecords(records, sight).map(given), totals };
}

async function answerRunning(query: RunningQuery, sight: Sight, reader: AccountingReader): Promise<GivenRunning> {
  const records = redactRecords(await reader.running(query), sight);
  return { schema: RECORD_SCHEMA, records: records.map(given) };
}

function answer(
  question: Question,
  sight: Sight,
  reader: AccountingReader,
): Promise<GivenJob | GivenOwner | GivenRunning> {
  switch (question.what) {
    case 'job':
      return answerJob(question.query, sight, reader);
    case 'owner':
      return answerOwner(question.query, sight, reader);
    case 'running':
      return answerRunning(question.query, sight, reader);
  }
}

/** The answer as JSON, as the caller may see it. Rejects with HttpProblem or StoreError. */
export async function answerQuestion(question: Question, sight: Sight, reader: AccountingReader): Promise<string> {
  return `${escapeJson(JSON.stringify(await answer(question, sight, reader)))}\n`;
}
