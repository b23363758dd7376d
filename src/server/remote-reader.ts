import {
  boolean,
  check,
  fail,
  integer,
  list,
  map,
  nullable,
  number,
  object,
  oneOf,
  refined,
  string,
  type Shape,
} from '../base/shape';
import type {
  AccountingReader,
  JobAnswer,
  JobAttempt,
  JobQuery,
  RecordFilter,
  RecordsAnswer,
  RecordsQuery,
  Shown,
} from '../accounting/store';
import type { SummaryQuery } from '../accounting/summary';
import { StoreError } from '../accounting/store-error';
import { COVERAGE_REASONS, type CoverageReason } from '../record/coverage';
import { TRUSTS } from '../record/fields';
import type { Stamp, StoredRecord } from '../record/merge';
import { recordShape } from '../record/record';
import { totalsShape } from '../record/totals';
import { MOST_GROUPS, MOST_RECORDS } from './accounting-question';
import { ClientError, detailOf, newServerClient, type ServerClient } from './client';

/** Jobs: the server answers several questions while it would wait for the next. */
const ASKED_AT_ONCE = 16;

const count = integer(0);
const most = { key: /^/, what: 'name', most: Infinity };
const stamp: Shape<Stamp> = object({ trust: oneOf(TRUSTS), revision: count, ended: boolean });
const merged = object({ ended: boolean, provenance: map(stamp, most) });

/** A record with how it was put together, which the server's JSON has beside its fields. */
const stored: Shape<StoredRecord> = {
  read: (value) => ({ record: recordShape.read(value), ...merged.read(value) }),
  schema: recordShape.schema,
};

const place = object({ attempt: integer(1), attempts: integer(1), incarnation: integer(1) });
const attempt: Shape<JobAttempt> = {
  read: (value) => ({ ...stored.read(value), ...place.read(value) }),
  schema: recordShape.schema,
};

const many = <T>(item: Shape<T>): Shape<readonly T[]> => list(item, Infinity);

function exactly<T>(item: Shape<T>, wanted: number): Shape<readonly T[]> {
  return refined(many(item), (items) => (items.length === wanted ? items : fail(`has not ${wanted} items`)));
}

const SHOWN = ['all', 'anonymous', 'project', 'own'] as const;
const shown = refined(nullable(oneOf(SHOWN)), (given): Shown | undefined =>
  given === null || given === 'all' ? undefined : given,
);

const jobShape = object({ records: many(attempt), older_incarnations: count, newer_incarnations: count });
const recordsShape = object({ records: many(stored), totals: totalsShape, shown });
const runningShape = object({ records: many(stored) });
const summaryShape = object({
  groups: many(object({ key: nullable(string), totals: totalsShape })),
  totals: totalsShape,
  hours: exactly(object({ requested_gib_hours: number(), used_gib_hours: number(), slot_hours: number() }), 24),
  shares: exactly(count, 21),
  coverage: object(
    Object.fromEntries(COVERAGE_REASONS.map((reason) => [reason, count])) as Record<CoverageReason, typeof count>,
  ),
  read: count,
  shown,
});
const anyObject = object({});

/** Without a member that says nothing: all is shown. */
function withShown<T extends object>({
  shown: of,
  ...answer
}: T & { readonly shown: Shown | undefined }): Omit<T, 'shown'> & {
  readonly shown?: Shown;
} {
  return of === undefined ? answer : { ...answer, shown: of };
}

const NOTHING: JobAnswer = { records: [], older_incarnations: 0, newer_incarnations: 0 };

function queryText(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

type Choice = RecordFilter & Partial<Omit<RecordsQuery, keyof RecordFilter | 'sort'>> & { readonly sort?: string };

/** A query as the parameters of its address, which have the same names. */
function parametersOf({
  states,
  ...choice
}: Choice & Pick<Partial<SummaryQuery>, 'by'>): Parameters<typeof queryText>[0] {
  return { ...choice, states: states?.join(',') };
}

/** Parts of an interval differ in how much they hold: a page that is asked for in vain costs a second. */
const SPARE_ROOM = 1.5;
/** Records that are put together from pages: about 20 s of them. */
const MOST_PAGED = 250_000;

/** An accounting DB as `qmemacct serve` shows it to this user. Its methods reject with StoreError. */
export function remoteReader(client: ServerClient): AccountingReader {
  const storeError = (reason: string, cause?: unknown): StoreError =>
    new StoreError(`the server at ${client.socket}`, reason, 'ask the admins to look at qmemacct serve', true, cause);

  const ask = async (target: string): Promise<{ readonly status: number; readonly answer: unknown }> => {
    try {
      const { status, json } = await client.get(target);
      return { status, answer: json };
    } catch (error) {
      if (error instanceof ClientError) throw storeError(error.message, error);
      throw error;
    }
  };
  const read = <T>(status: number, answer: unknown, shape: Shape<T>): T => {
    const given = check(anyObject, answer, 'its answer');
    if (!given.ok) throw storeError(given.error);
    if (status !== 200) throw storeError(detailOf(answer) || `it answers with status ${status}`);
    const checked = check(shape, answer, 'its answer');
    if (!checked.ok) throw storeError(`its answer can't be used (${checked.error})`);
    return checked.value;
  };
  const recordsPage = async (query: RecordsQuery): Promise<RecordsAnswer> => {
    const limit = query.limit === undefined ? {} : { limit: Math.min(query.limit, MOST_RECORDS) };
    const { status, answer } = await ask(`/v1/records${queryText(parametersOf({ ...query, ...limit }))}`);
    return withShown(read(status, answer, recordsShape));
  };
  /** All records of an interval that has more than one answer holds, part by part: so many that each should fit. */
  const everyRecord = async (query: RecordsQuery, page: RecordsAnswer): Promise<readonly StoredRecord[]> => {
    const { since, until } = query;
    // Totals leave out what an owner alone says: a full page may have more behind it.
    if (page.totals.records <= page.records.length && page.records.length < MOST_RECORDS) return page.records;
    if (until - since < 2) throw storeError(`more than ${MOST_RECORDS} jobs ended in the same ms`);
    const needed = Math.ceil((SPARE_ROOM * page.totals.records) / Math.max(1, page.records.length));
    const parts = Math.min(Math.max(2, needed), until - since);
    const edges = Array.from({ length: parts + 1 }, (_, index) =>
      Math.floor(since + ((until - since) * index) / parts),
    );
    const records: StoredRecord[] = [];
    for (const [index, from] of edges.slice(0, -1).entries()) {
      const part = { ...query, since: from, until: edges[index + 1] ?? until };
      for (const one of await everyRecord(part, await recordsPage(part))) records.push(one);
    }
    return records;
  };

  const askForJob = async ({ job_id: job, task_id: task, cluster, all, at }: JobQuery): Promise<JobAnswer> => {
    const { status, answer } = await ask(
      `/v1/job/${job}${task === undefined ? '' : `.${task}`}${queryText({ cluster, all, at })}`,
    );
    if (status === 404) return NOTHING;
    return read(status, answer, jobShape);
  };

  return {
    job: askForJob,
    jobs: async (numbers) => {
      const found: StoredRecord[] = [];
      for (let first = 0; first < numbers.length; first += ASKED_AT_ONCE) {
        const some = numbers.slice(first, first + ASKED_AT_ONCE);
        const answers = await Promise.all(some.map((job) => askForJob({ job_id: job, all: true })));
        for (const { records } of answers)
          for (const { record, ended, provenance } of records)
            found.push({ record: { ...record, series: null }, ended, provenance });
      }
      return found;
    },
    records: async (query) => {
      const wanted = query.limit ?? 0;
      // How many there are says how they are to be asked for.
      const counted = { ...query };
      if (wanted > MOST_RECORDS) delete counted.totals;
      const page = await recordsPage(counted);
      if (wanted > MOST_RECORDS && page.totals.records > MOST_PAGED)
        throw new StoreError(
          `the server at ${client.socket}`,
          `${page.totals.records} records are too many to be sent`,
          'ask for less time or by a filter',
          false,
        );
      return wanted <= MOST_RECORDS ? page : { ...page, records: await everyRecord(counted, page) };
    },
    summary: async (query) => {
      // Who wants all groups, and has more than one answer holds, gets the largest.
      const all = query.limit === undefined || query.limit > MOST_GROUPS;
      const choice = all ? { ...query, limit: MOST_GROUPS, sort: query.sort ?? 'requested_gib_hours' } : query;
      const { status, answer } = await ask(`/v1/summary${queryText(parametersOf(choice))}`);
      return withShown(read(status, answer, summaryShape));
    },
    running: async (query) => {
      const { status, answer } = await ask(`/v1/running${queryText({ ...query })}`);
      return read(status, answer, runningShape).records;
    },
    close: () => {
      client.close();
      return Promise.resolve();
    },
  };
}

/**
 * Opens the accounting DB behind the server at `socket`. Rejects with ClientError where no server answers there, and
 * with StoreError where it can't read the DB either.
 */
export async function openRemoteReader(socket: string): Promise<AccountingReader> {
  const client = newServerClient(socket);
  try {
    const { status, json } = await client.get('/v1/health');
    if (status !== 200) throw new ClientError(detailOf(json) || `it answers with status ${status}`, undefined);
    const { accounting } = json as { readonly accounting?: { readonly problem?: unknown } };
    const problem = accounting?.problem;
    if (typeof problem === 'string')
      throw new StoreError(`the server at ${socket}`, problem.slice(0, 1000), 'its log tells more', true);
    return remoteReader(client);
  } catch (error) {
    client.close();
    throw error;
  }
}
