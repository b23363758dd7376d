import {
  MERGED_FIELDS,
  METRIC_PREFIX,
  REQUEST_PREFIX,
  type Slot,
  type Stamp,
  type StoredRecord,
} from '../accounting/merge';
import type {
  AccountingReader,
  JobAnswer,
  JobAttempt,
  JobQuery,
  RecordsAnswer,
  RecordsQuery,
  Totals,
} from '../accounting/store';
import { StoreError } from '../accounting/store-error';
import { parseRecord, TRUSTS } from '../sampler/parse-record';
import { MOST_RECORDS } from './accounting-question';
import { ClientError, detailOf, newServerClient, type ServerClient } from './client';

/** What the server said that can't be: a message in a few words. */
class Unusable extends Error {}

type Table = Readonly<Record<string, unknown>>;

function table(value: unknown, what: string): Table {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unusable(`${what} is no object`);
  return value as Table;
}

function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Unusable(`${what} is no list`);
  return value;
}

function count(value: unknown, what: string, least = 0): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least)
    throw new Unusable(`${what} is no whole number`);
  return value;
}

function amount(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Unusable(`${what} is no number`);
  return value;
}

function flag(value: unknown, what: string): boolean {
  if (typeof value !== 'boolean') throw new Unusable(`${what} is not true or false`);
  return value;
}

const SLOTS: ReadonlySet<string> = new Set(['status', ...MERGED_FIELDS]);

function isSlot(name: string): name is Slot {
  return SLOTS.has(name) || name.startsWith(REQUEST_PREFIX) || name.startsWith(METRIC_PREFIX);
}

function stamp(value: unknown): Stamp {
  const given = table(value, 'a stamp');
  const trust = TRUSTS.find((known) => known === given.trust);
  if (trust === undefined) throw new Unusable('a stamp has an unknown trust');
  return { trust, revision: count(given.revision, 'a revision'), ended: flag(given.ended, 'ended') };
}

function stored(value: unknown): StoredRecord {
  const given = table(value, 'a record');
  const record = parseRecord(given);
  if ('error' in record) throw new Unusable(`a record is none: ${record.error}`);
  const provenance = Object.entries(table(given.provenance ?? {}, 'provenance')).flatMap(([name, found]) =>
    // A newer server may know more fields.
    isSlot(name) ? [[name, stamp(found)] as const] : [],
  );
  return { record, ended: flag(given.ended, 'ended'), provenance: Object.fromEntries(provenance) };
}

function attempt(value: unknown): JobAttempt {
  const given = table(value, 'a record');
  return {
    ...stored(given),
    attempt: count(given.attempt, 'attempt', 1),
    attempts: count(given.attempts, 'attempts', 1),
    incarnation: count(given.incarnation, 'incarnation', 1),
  };
}

const TOTALS = {
  records: count,
  jobs: count,
  running: count,
  requested_gib_hours: amount,
  requested_with_used_gib_hours: amount,
  requested_with_peak_gib_hours: amount,
  used_gib_hours: amount,
  peak_gib_hours: amount,
  cpu_seconds: amount,
  slot_seconds: amount,
  limit_gib_hours: amount,
  energy_joules: amount,
  slot_seconds_with_energy: amount,
  failed: count,
  killed_by_memory: count,
  unsampled: count,
  above_request: count,
  far_below: count,
  without_limit: count,
  without_peak: count,
  without_used: count,
} as const satisfies Record<keyof Totals, (value: unknown, what: string) => number>;

function totals(value: unknown): Totals {
  const given = table(value, 'totals');
  const entries = Object.entries(TOTALS).map(([name, check]) => [name, check(given[name], name)] as const);
  return Object.fromEntries(entries) as Record<keyof Totals, number>;
}

const NOTHING: JobAnswer = { records: [], older_incarnations: 0, newer_incarnations: 0 };

function queryText(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** An accounting DB as `qmemacct serve` shows it to this user. Its methods reject with StoreError. */
export function remoteReader(client: ServerClient): AccountingReader {
  const storeError = (reason: string, cause?: unknown): StoreError =>
    new StoreError(`the server at ${client.socket}`, reason, 'ask the admins to look at qmemacct serve', true, cause);

  const ask = async (target: string): Promise<{ readonly status: number; readonly answer: Table }> => {
    try {
      const { status, json } = await client.get(target);
      return { status, answer: table(json, 'its answer') };
    } catch (error) {
      if (error instanceof ClientError || error instanceof Unusable) throw storeError(error.message, error);
      throw error;
    }
  };
  const read = <T>(status: number, answer: Table, checked: (given: Table) => T): T => {
    if (status !== 200) throw storeError(detailOf(answer) || `it answers with status ${status}`);
    try {
      return checked(answer);
    } catch (error) {
      if (error instanceof Unusable) throw storeError(`its answer can't be used (${error.message})`, error);
      throw error;
    }
  };
  const ownerPage = async (query: RecordsQuery): Promise<RecordsAnswer> => {
    const { owner = '', limit, since, until, cluster, sort, far_below } = query;
    const choice = {
      since,
      until,
      cluster,
      sort,
      far_below,
      ...(limit === undefined ? {} : { limit: Math.min(limit, MOST_RECORDS) }),
    };
    const { status, answer } = await ask(`/v1/owner/${encodeURIComponent(owner)}${queryText(choice)}`);
    return read(status, answer, (given) => ({
      records: list(given.records, 'records').map(stored),
      totals: totals(given.totals),
    }));
  };
  /** All records of an interval that has more than one answer holds, half by half. */
  const everyRecord = async (query: RecordsQuery, page: RecordsAnswer): Promise<readonly StoredRecord[]> => {
    const { since, until } = query;
    if (page.totals.records <= page.records.length) return page.records;
    if (until - since < 2) throw storeError(`more than ${MOST_RECORDS} jobs ended in the same ms`);
    const middle = Math.floor((since + until) / 2);
    const halves = [
      { ...query, until: middle },
      { ...query, since: middle },
    ];
    const records: StoredRecord[] = [];
    for (const half of halves) for (const one of await everyRecord(half, await ownerPage(half))) records.push(one);
    return records;
  };

  return {
    job: async ({ job_id: job, task_id: task, ...choice }: JobQuery) => {
      const { status, answer } = await ask(`/v1/job/${job}${task === undefined ? '' : `.${task}`}${queryText(choice)}`);
      if (status === 404) return NOTHING;
      return read(status, answer, (given) => ({
        records: list(given.records, 'records').map(attempt),
        older_incarnations: count(given.older_incarnations, 'older_incarnations'),
        newer_incarnations: count(given.newer_incarnations, 'newer_incarnations'),
      }));
    },
    records: async (query) => {
      const page = await ownerPage(query);
      const wanted = query.limit ?? 0;
      return wanted <= MOST_RECORDS ? page : { records: await everyRecord(query, page), totals: page.totals };
    },
    summary: () => Promise.reject(storeError('it gives no summaries')),
    running: async (query) => {
      const { status, answer } = await ask(`/v1/running${queryText({ ...query })}`);
      return read(status, answer, (given) => list(given.records, 'records').map(stored));
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
