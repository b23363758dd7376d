import { DAY_MS } from '../../base/units';
import { arrangeAttempts } from '../../accounting/attempts';
import { OwnNumbers } from '../../accounting/own-numbers';
import { problemOf } from '../../base/problem-document';
import { check, type Shape } from '../../base/shape';
import type {
  AccountingReader,
  JobAnswer,
  JobQuery,
  NodesQuery,
  PagesQuery,
  RecordPage,
  RecordsAnswer,
  RecordsQuery,
  RunningQuery,
  TaskTable,
  TaskTableQuery,
} from '../../accounting/store';
import type { SummaryAnswer, SummaryQuery } from '../../accounting/summary';
import { DamagedRecord, StoreError } from '../../accounting/store-error';
import { TaskColumn } from '../../accounting/task-column';
import type { StoredRecord } from '../../record/merge';
import type { NodeHeartbeat } from '../../record/node-status';
import {
  jobAnswer,
  MOST_GROUPS,
  MOST_RECORDS,
  nodesAnswer,
  recordsAnswer,
  runningAnswer,
  summaryAnswer,
  tasksAnswer,
} from '../accounting/answer-shapes';
import { healthShape } from '../routes/health';
import { ClientError, newServerClient, type ServerAnswer, type ServerClient } from './server-client';

/** Jobs that are asked for at a time, so that the server does not wait for the next question. */
const ASKED_AT_ONCE = 16;

/** HTTP: the job has more records than one answer holds. */
const TOO_LARGE = 413;
/** HTTP: not for this user. Its words say who may ask. */
const FORBIDDEN = 403;

const NOTHING: JobAnswer = { records: [], older_incarnations: 0, newer_incarnations: 0 };

type Value = string | number | boolean | readonly (string | number)[] | undefined;

/** A query as the parameters of its address, which have the same names. */
function queryText(query: Readonly<Record<string, Value>>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** More parts than the average needs, since some hold more than others: a page that does not fit costs a second. */
const SPARE_ROOM = 1.5;
/** At most this many records are put together from pages: that takes about 20 s. */
const MOST_PAGED = 250_000;

/** An accounting DB as `qmemacct serve` shows it to this user. Its methods reject with StoreError. */
export class RemoteReader implements AccountingReader {
  constructor(private readonly client: ServerClient) {}

  async job(query: JobQuery): Promise<JobAnswer> {
    const { job_id: job, task_id: task, cluster, all, at } = query;
    const target = `/v1/job/${job}${task === undefined ? '' : `.${task}`}${queryText({ cluster, all, at })}`;
    const answer = await this.get(target);
    if (answer.status === TOO_LARGE) return arrangeAttempts(await this.largeJob(query), query);
    const found = this.checked(answer, jobAnswer);
    if (found === null) return NOTHING;
    const { records, older_incarnations, newer_incarnations } = found;
    // Without the server's advice: users of a reader make their own.
    const plain = records.map(({ record, ended, provenance, attempt, attempts, incarnation }) => ({
      ...{ record, ended, provenance, attempt, attempts, incarnation },
    }));
    return { records: plain, older_incarnations, newer_incarnations };
  }

  async taskTable({ job_id: job, fields, rows }: TaskTableQuery): Promise<TaskTable | null> {
    const target = `/v1/tasks/${job}${queryText({ fields, ids: 'ids' in rows ? rows.ids : undefined })}`;
    const answer = await this.ask(target, tasksAnswer);
    if (answer === null) return null;
    const fault = (error: unknown): unknown =>
      error instanceof DamagedRecord ? this.error(error.message, error) : error;
    const { cluster, words, ids: found, columns } = answer;
    return {
      cluster,
      ids: found,
      columns: new Map(Object.entries(columns).map(([name, cells]) => [name, TaskColumn.of(cells, found.length)])),
      words: new OwnNumbers(words),
      fault,
    };
  }

  /** All records of a job with too many for one answer. */
  private async largeJob({ job_id, task_id, cluster }: JobQuery): Promise<readonly StoredRecord[]> {
    const choice = { job_id, ...(cluster === undefined ? {} : { cluster }), limit: Infinity };
    const until = Date.now() + DAY_MS;
    const newest = await this.page({ ...choice, since: 0, until, totals: false });
    // If all of time were split, nearly all parts would be empty: the few older jobs of this number are asked for
    // apart.
    const submitted = newest.records.map(({ record }) => Date.parse(record.submitted_at ?? '') || 0);
    const since = submitted.reduce((first, time) => Math.min(first, time), until);
    const parts = [
      ...(since > 0 ? [await this.records({ ...choice, since: 0, until: since })] : []),
      await this.records({ ...choice, since, until }),
    ];
    return parts
      .flatMap(({ records }) => records)
      .filter(({ record }) => task_id === undefined || record.task_id === task_id);
  }

  async jobs(numbers: readonly number[]): Promise<readonly StoredRecord[]> {
    const found: StoredRecord[] = [];
    for (let first = 0; first < numbers.length; first += ASKED_AT_ONCE) {
      const some = numbers.slice(first, first + ASKED_AT_ONCE);
      const answers = await Promise.all(some.map((job) => this.job({ job_id: job, all: true })));
      for (const { records } of answers)
        for (const { record, ended, provenance } of records)
          found.push({ record: { ...record, series: null }, ended, provenance });
    }
    return found;
  }

  async records(query: RecordsQuery): Promise<RecordsAnswer> {
    const wanted = query.limit ?? 0;
    // The totals are needed: how many records there are decides how to ask for them.
    const counted = { ...query };
    if (wanted > MOST_RECORDS) delete counted.totals;
    const page = await this.page(counted);
    if (wanted <= MOST_RECORDS) return page;
    // In the order of time, the newest parts suffice. In another order any part may hold some of the first records: all
    // are read, and not sorted.
    const most = (query.sort ?? 'time') === 'time' ? wanted : Infinity;
    const needed = Math.min(most, page.totals.records);
    if (needed > MOST_PAGED)
      throw new StoreError(
        this.place,
        `${needed} records are too many to be sent`,
        'ask for less time or by a filter',
        false,
      );
    const records: StoredRecord[] = [];
    for await (const part of this.every(counted, page)) {
      for (const one of part) records.push(one);
      if (records.length >= most) break;
    }
    return { ...page, records: records.slice(0, most) };
  }

  async *pages({ fields, ...filter }: PagesQuery): AsyncGenerator<RecordPage> {
    if (fields?.includes('series'))
      throw new StoreError(this.place, 'it sends no charts of many jobs', 'ask where the DB can be read', false);
    const query = { ...filter, limit: MOST_RECORDS };
    const first = await this.page(query);
    const { totals, shown } = first;
    for await (const records of this.every(query, first))
      yield { records, of: Math.max(totals.records, records.length), ...(shown === undefined ? {} : { shown }) };
  }

  async summary(query: SummaryQuery): Promise<SummaryAnswer> {
    // A caller who wants all groups gets the largest ones if there are too many for one answer.
    const all = query.limit === undefined || query.limit > MOST_GROUPS;
    const choice = all ? { ...query, limit: MOST_GROUPS, sort: query.sort ?? 'requested_gib_hours' } : query;
    const answer = await this.found(`/v1/summary${queryText({ ...choice })}`, summaryAnswer);
    const { groups, totals, hours, shares, coverage, read, shown } = answer;
    return { groups, totals, hours, shares, coverage, read, ...(shown === 'all' ? {} : { shown }) };
  }

  async running(query: RunningQuery): Promise<readonly StoredRecord[]> {
    return (await this.found(`/v1/running${queryText({ ...query })}`, runningAnswer)).records;
  }

  async nodes(query: NodesQuery): Promise<readonly NodeHeartbeat[]> {
    return (await this.found(`/v1/nodes${queryText({ ...query })}`, nodesAnswer)).nodes;
  }

  close(): Promise<void> {
    this.client.close();
    return Promise.resolve();
  }

  private get place(): string {
    return `the server at ${this.client.socket}`;
  }

  private error(reason: string, cause?: unknown): StoreError {
    return new StoreError(this.place, reason, 'ask the admins to check qmemacct serve', true, cause);
  }

  /** null: the server knows nothing of it (status 404). */
  private async ask<T>(target: string, shape: Shape<T>): Promise<T | null> {
    return this.checked(await this.get(target), shape);
  }

  private get(target: string): Promise<ServerAnswer> {
    return this.client.get(target).catch((error: unknown) => {
      throw error instanceof ClientError ? this.error(error.message, error) : error;
    });
  }

  private checked<T>(answer: ServerAnswer, shape: Shape<T>): T | null {
    if (answer.status === 404) return null;
    if (answer.status === FORBIDDEN) throw new StoreError(this.place, problemOf(answer), '', false);
    if (answer.status !== 200) throw this.error(problemOf(answer));
    const checked = check(shape, answer.json, 'its answer');
    if (!checked.ok) throw this.error(`its answer can't be used (${checked.error})`);
    return checked.value;
  }

  private async found<T>(target: string, shape: Shape<T>): Promise<T> {
    return (await this.ask(target, shape)) ?? Promise.reject(this.error('it does not know this question'));
  }

  private async page(query: RecordsQuery): Promise<RecordsAnswer> {
    const limit = query.limit === undefined ? {} : { limit: Math.min(query.limit, MOST_RECORDS) };
    const answer = await this.found(
      `/v1/records${queryText({ ...query, ...limit, fields: undefined })}`,
      recordsAnswer,
    );
    const { records, totals, shown } = answer;
    return { records, totals, ...(shown === 'all' ? {} : { shown }) };
  }

  /**
   * All records of an interval, the newest part first. If they are too many for one answer, the interval is split into
   * so many parts that each should fit.
   */
  private async *every(query: RecordsQuery, page: RecordsAnswer): AsyncGenerator<readonly StoredRecord[]> {
    const { since, until } = query;
    // Totals leave out self-reported records: more may follow a full page.
    if (page.totals.records <= page.records.length && page.records.length < MOST_RECORDS) {
      yield page.records;
      return;
    }
    if (until - since < 2) throw this.error(`more than ${MOST_RECORDS} jobs ended in the same ms`);
    const needed = Math.ceil((SPARE_ROOM * page.totals.records) / Math.max(1, page.records.length));
    const parts = Math.min(Math.max(2, needed), until - since);
    const edge = (index: number): number => Math.floor(since + ((until - since) * index) / parts);
    for (let index = parts - 1; index >= 0; index--) {
      const part = { ...query, since: edge(index), until: edge(index + 1) };
      yield* this.every(part, await this.page(part));
    }
  }
}

/**
 * Opens the accounting DB behind the server at `socket`. Rejects with ClientError if no server answers there, and with
 * StoreError if the server can't read the DB either.
 */
export async function openRemoteReader(socket: string): Promise<AccountingReader> {
  const client = newServerClient(socket);
  try {
    const answer = await client.get('/v1/health');
    const health = check(healthShape, answer.json, 'its answer');
    if (answer.status !== 200 || !health.ok) throw new ClientError(problemOf(answer), undefined);
    const { problem } = health.value.accounting;
    if (problem !== null)
      throw new StoreError(`the server at ${socket}`, problem.slice(0, 1000), 'its log has more', true);
    return new RemoteReader(client);
  } catch (error) {
    client.close();
    throw error;
  }
}
