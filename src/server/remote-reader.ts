import type { CoverageReason } from '../record/coverage';
import { parseRecord } from '../record/record';
import type { Totals } from '../record/totals';
import {
  MERGED_FIELDS,
  METRIC_PREFIX,
  REQUEST_PREFIX,
  type Slot,
  type Stamp,
  type StoredRecord,
} from '../record/merge';
import type {
  AccountingReader,
  JobAnswer,
  JobAttempt,
  JobQuery,
  RecordsAnswer,
  RecordFilter,
  RecordsQuery,
  Shown,
} from '../accounting/store';
import type { HourOfDay, SummaryAnswer, SummaryGroup, SummaryQuery } from '../accounting/summary';
import { StoreError } from '../accounting/store-error';
import { TRUSTS } from '../record/fields';
import { MOST_GROUPS, MOST_RECORDS } from './accounting-question';
import { ClientError, detailOf, newServerClient, type ServerClient } from './client';

/** Jobs: the server answers several questions while it would wait for the next. */
const ASKED_AT_ONCE = 16;

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
  return numbersOf(TOTALS, value, 'totals');
}

function group(value: unknown): SummaryGroup {
  const given = table(value, 'a group');
  if (given.key !== null && typeof given.key !== 'string') throw new Unusable('key is no text');
  return { key: given.key, totals: totals(given.totals) };
}

const HOUR = {
  requested_gib_hours: amount,
  used_gib_hours: amount,
  slot_hours: amount,
} as const satisfies Record<keyof HourOfDay, typeof amount>;

const COVERAGE = {
  sampled: count,
  'no-hooks': count,
  'never-started': count,
  limits: count,
  unprivileged: count,
  'sampler-lost': count,
  other: count,
} as const satisfies Record<CoverageReason, typeof count>;

/** Every field of a table of numbers, checked. */
function numbersOf<Name extends string>(
  checks: Readonly<Record<Name, (value: unknown, what: string) => number>>,
  value: unknown,
  what: string,
): Record<Name, number> {
  const given = table(value, what);
  const names = Object.keys(checks) as Name[];
  return Object.fromEntries(names.map((name) => [name, checks[name](given[name], name)])) as Record<Name, number>;
}

function itemsOf(value: unknown, what: string, wanted: number): readonly unknown[] {
  const items = list(value, what);
  if (items.length !== wanted) throw new Unusable(`${what} has not ${wanted} items`);
  return items;
}

const SHOWN: readonly Shown[] = ['anonymous', 'project', 'own'];

/** Older servers do not tell. */
function shownOf(given: Table): { readonly shown?: Shown } {
  const shown = SHOWN.find((known) => known === given.shown);
  return shown === undefined ? {} : { shown };
}

function summaryAnswer(given: Table): SummaryAnswer {
  return {
    groups: list(given.groups, 'groups').map(group),
    totals: totals(given.totals),
    hours: itemsOf(given.hours, 'hours', 24).map((hour) => numbersOf(HOUR, hour, 'an hour')),
    shares: itemsOf(given.shares, 'shares', 21).map((share) => count(share, 'a share')),
    coverage: numbersOf(COVERAGE, given.coverage, 'coverage'),
    read: count(given.read, 'read'),
    ...shownOf(given),
  };
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

/** What older servers have, too: an owner's records, unfiltered. */
const OWNER_ONLY: ReadonlySet<string> = new Set([
  ...['owner', 'since', 'until', 'cluster', 'sort', 'limit', 'far_below'],
]);

function recordsTarget(query: RecordsQuery): string {
  const { owner, ...choice } = query;
  if (owner === undefined || !Object.keys(query).every((name) => OWNER_ONLY.has(name)))
    return `/v1/records${queryText(parametersOf(query))}`;
  return `/v1/owner/${encodeURIComponent(owner)}${queryText(parametersOf(choice))}`;
}

/** Parts of an interval differ in how much they hold: a page that is asked for in vain costs a second. */
const SPARE_ROOM = 1.5;
/** Records that are put together from pages: about 20 s of them. */
const MOST_PAGED = 250_000;

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
  const recordsPage = async (query: RecordsQuery): Promise<RecordsAnswer> => {
    const limit = query.limit === undefined ? {} : { limit: Math.min(query.limit, MOST_RECORDS) };
    const { status, answer } = await ask(recordsTarget({ ...query, ...limit }));
    return read(status, answer, (given) => ({
      records: list(given.records, 'records').map(stored),
      totals: totals(given.totals),
      ...shownOf(given),
    }));
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

  const askForJob = async ({ job_id: job, task_id: task, ...choice }: JobQuery): Promise<JobAnswer> => {
    const { status, answer } = await ask(`/v1/job/${job}${task === undefined ? '' : `.${task}`}${queryText(choice)}`);
    if (status === 404) return NOTHING;
    return read(status, answer, (given) => ({
      records: list(given.records, 'records').map(attempt),
      older_incarnations: count(given.older_incarnations, 'older_incarnations'),
      newer_incarnations: count(given.newer_incarnations, 'newer_incarnations'),
    }));
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
      return read(status, answer, summaryAnswer);
    },
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
