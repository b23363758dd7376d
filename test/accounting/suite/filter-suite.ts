import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countedAt, requestedBytes } from '../../../src/record/facts';
import { endedBadly } from '../../../src/record/job-end';
import { parsePatterns } from '../../../src/accounting/filter-record';
import { RECORD_SORTS, type RecordSort } from '../../../src/accounting/sorts';
import type { RecordFilter } from '../../../src/accounting/store';
import { isHost } from '../../../src/report/live/filter';
import type { JobRecord } from '../../../src/record/record';
import { DAY, GIB, HOUR, job, peakOf, T0 } from './fixture';
import type { OpenStore } from './fixture';
import { accountOf } from '../../support/records';
import { limitOf } from '../../../src/record/request';

const of = <T>(index: number, ...choices: readonly T[]): T => choices[index % choices.length] as T;

/** Jobs that differ in everything that can be filtered by. */
function variedJobs(): readonly JobRecord[] {
  return Array.from({ length: 60 }, (_item, index) => {
    const limit = of(index, 4 * GIB, 8 * GIB, null, 16 * GIB, 0);
    const peak = of(index, GIB, 3 * GIB, 9 * GIB, null, 4 * GIB, 0.5 * GIB, 15 * GIB);
    return job(index + 1, T0 + index * 3 * HOUR, {
      cluster: of(index, 'cell', 'cell', 'other'),
      owner: of(index, 'bob', 'eve', null, "o'hara"),
      project: of(index, 'physics', null, 'chemistry'),
      queue: of(index, 'all.q', 'long.q'),
      host: of(index, 'node1', 'node2', 'node3', 'node4', 'node5.cluster.example', 'NODE_6', 'n%7'),
      pe: of(index, null, null, 'mpi'),
      job_name: of(
        index,
        'align_1',
        'align_22',
        'ALIGN_1',
        'a[b]c',
        'abc',
        '100%',
        null,
        'x*y',
        "'; DROP TABLE record; --",
      ),
      status: of(index, 'finished', 'finished', 'lost', 'unsampled', 'running'),
      ended_at: index % 5 === 4 ? null : job(1, T0 + index * 3 * HOUR).ended_at,
      failed: null,
      exit_status: of(index, 0, 1, 0, null),
      signal: of(index, 0, 0, 9),
      samples: of(index, 5, 0, null, 7),
      ...requesting(index, limit),
      peak_rss: peak === null ? null : peakOf(peak),
      grid_engine: of(index, null, accountOf({ maxvmem_bytes: 2 * GIB + index })),
      wallclock_seconds: of(index, 16.1, 60, null, 7200),
      cpu_seconds: of(index, 10, null, 5, 7, 20),
      ...(index === 13 ? { trust: 'accounting', failed: 0, exit_status: 0, signal: 0, grid_engine: accountOf() } : {}),
    });
  });
}

/** A request for one of several complexes. */
function requesting(index: number, limit: number | null): Partial<JobRecord> {
  if (limit === null) return {};
  const request = { request_bytes: limit, limit_bytes: limit, per: 'job' } as const;
  if (index % 3 === 0) return { h_vmem: null, requests: { mem_free: request } };
  if (index % 3 === 1) return { h_vmem: request };
  const other = { ...request, limit_bytes: 1 };
  return { h_vmem: other, requests: { gpu_mem: other, site_mem: request }, request_order: 'site_mem,h_vmem' };
}

/** The peak, or maxvmem if none was measured. */
const peakBytes = (record: JobRecord): number =>
  record.peak_rss?.lower_bytes ?? record.grid_engine?.maxvmem_bytes ?? NaN;

const share = (record: JobRecord): number => {
  const limit = limitOf(record) ?? 0;
  return limit <= 0 ? NaN : peakBytes(record) / limit;
};

const FILTERS: readonly (readonly [Partial<RecordFilter>, (record: JobRecord) => boolean])[] = [
  [{}, () => true],
  [{ cluster: 'other' }, (r) => r.cluster === 'other'],
  [{ owner: "o'hara" }, (r) => r.owner === "o'hara"],
  [{ job_id: 14 }, (r) => r.job_id === 14],
  [{ job_id: 14, owner: 'bob' }, (r) => r.job_id === 14 && r.owner === 'bob'],
  [{ project: 'physics', queue: 'all.q' }, (r) => r.project === 'physics' && r.queue === 'all.q'],
  [{ host: 'node4' }, (r) => r.host === 'node4'],
  ...['node*', 'node?', 'node5,n%*', 'node5.*', '*.cluster.example,node1', 'NODE_?', 'n%7,', 'n[o]de*', '?'].map(
    (host): (typeof FILTERS)[number] => [
      { host },
      (r) => parsePatterns(host).some((pattern) => isHost(r.host, pattern)),
    ],
  ),
  [
    { host: 'node*', owner: 'bob', failed: true },
    (r) => r.host.startsWith('node') && r.owner === 'bob' && endedBadly(r),
  ],
  [{ pe: 'mpi', owner: 'bob' }, (r) => r.pe === 'mpi' && r.owner === 'bob'],
  [{ job_name: 'align_1' }, (r) => r.job_name === 'align_1'],
  [{ job_name: 'align_*' }, (r) => r.job_name?.startsWith('align_') ?? false],
  [{ job_name: 'a??' }, (r) => r.job_name === 'abc'],
  [{ job_name: 'align_??', owner: 'bob' }, (r) => r.job_name === 'align_22' && r.owner === 'bob'],
  [{ job_name: 'a[b]*' }, (r) => r.job_name === 'a[b]c'],
  [{ job_name: '100%' }, (r) => r.job_name === '100%'],
  [{ job_name: 'x*y' }, (r) => r.job_name === 'x*y'],
  [{ job_name: "'; DROP TABLE record; --" }, (r) => r.job_name === "'; DROP TABLE record; --"],
  [{ job_name: '*' }, (r) => r.job_name !== null],
  [{ name_class: 'align_#' }, (r) => r.job_name?.startsWith('align_') ?? false],
  [{ name_class: 'align_#', owner: 'bob' }, (r) => r.job_name?.startsWith('align_') === true && r.owner === 'bob'],
  ...['abc', 'a[b]c', 'x*y', '#', 'align_', '#%'].flatMap((name_class): (typeof FILTERS)[number][] => [
    [{ name_class }, (r) => r.job_name?.replace('100', '#') === name_class],
    [{ name_class, owner: 'eve' }, (r) => r.job_name?.replace('100', '#') === name_class && r.owner === 'eve'],
  ]),
  [{ states: ['lost', 'running'] }, (r) => r.status === 'lost' || r.status === 'running'],
  [{ states: [] }, () => false],
  [{ failed: true }, endedBadly],
  [{ failed: false, owner: 'eve' }, (r) => !endedBadly(r) && r.owner === 'eve'],
  [{ sampled: true }, (r) => (r.samples ?? 0) > 0],
  [{ sampled: false }, (r) => !((r.samples ?? 0) > 0)],
  [{ peak_at_least: 3 * GIB, peak_at_most: 9 * GIB }, (r) => peakBytes(r) >= 3 * GIB && peakBytes(r) <= 9 * GIB],
  [{ peak_at_least: 1.5 * GIB }, (r) => peakBytes(r) >= 1.5 * GIB],
  [{ peak_at_most: 2.5 * GIB }, (r) => peakBytes(r) <= 2.5 * GIB],
  [{ limit_at_least: 8 * GIB }, (r) => (limitOf(r) ?? -1) >= 8 * GIB],
  [{ limit_at_most: 4 * GIB }, (r) => (limitOf(r) ?? NaN) <= 4 * GIB],
  [{ share_at_least: 0.5 }, (r) => share(r) >= 0.5],
  [{ share_at_most: 0.25, host: 'node1' }, (r) => share(r) <= 0.25 && r.host === 'node1'],
  [{ wallclock_at_least: 60 }, (r) => (r.wallclock_seconds ?? -1) >= 60],
  [{ wallclock_at_least: 16.1 }, (r) => r.wallclock_seconds !== null],
  [{ wallclock_at_least: 0 }, (r) => r.wallclock_seconds !== null],
  [{ host: 'nowhere' }, () => false],
  [{ cluster: '' }, () => false],
  [{ owner: 'b\0b' }, () => false],
  [{ host: 'node\0,*\0' }, () => false],
];

const INTERVALS: readonly (readonly [number, number])[] = [
  [T0, T0 + 30 * DAY],
  [T0 + HOUR, T0 + 5 * DAY + 3 * HOUR],
];

function sortValue(record: JobRecord, sort: RecordSort): number {
  const wallclock = record.wallclock_seconds ?? NaN;
  const value = {
    time: 0,
    wallclock,
    cpu: record.cpu_seconds ?? NaN,
    peak: peakBytes(record),
    requested: (requestedBytes(record) ?? NaN) * wallclock,
    unused: ((requestedBytes(record) ?? NaN) - peakBytes(record)) * wallclock,
  }[sort];
  return Number.isNaN(value) ? -Infinity : value;
}

/** Filtering and sorting of records, the same in every store; `perFilter`: how many intervals each filter has at a time. */
export function filterSuite(open: OpenStore, perFilter = INTERVALS.length): void {
  describe('records', () => {
    it('match the filter and are in the requested order, before and after days are rolled up', async (t) => {
      const store = await open(t);
      const all = variedJobs();
      await store.merge(all);
      for (const rolled of [false, true]) {
        if (rolled) {
          await store.rollUp({});
          // Two days have changed since they were rolled up.
          await store.merge([0, 40].map((index) => ({ ...(all[index] as JobRecord), revision: T0 + 40 * DAY })));
        }
        for (const [number, [filter, selects]] of FILTERS.entries())
          for (let turn = 0; turn < perFilter; turn++) {
            const index = (number + turn + Number(rolled)) % INTERVALS.length;
            const [since, until] = of(index, ...INTERVALS);
            const expected = all.filter((r) => countedAt(r) >= since && countedAt(r) < until && selects(r));
            const sort = of(number + index, ...RECORD_SORTS);
            const { records, totals } = await store.records({ ...filter, since, until, sort, limit: 7 });
            const order = expected.toSorted((a, b) => {
              const [left, right] = [sortValue(a, sort), sortValue(b, sort)];
              return (left === right ? 0 : right - left) || countedAt(b) - countedAt(a);
            });
            assert.deepEqual(
              records.map(({ record }) => record.job_id),
              order.slice(0, 7).map(({ job_id }) => job_id),
              JSON.stringify([filter, sort]),
            );
            assert.equal(totals.records, expected.length, JSON.stringify(filter));
            assert.equal(totals.failed, expected.filter(endedBadly).length, JSON.stringify(filter));
          }
      }
    });

    it('are fifty at most without a limit', async (t) => {
      const store = await open(t);
      await store.merge(variedJobs());
      assert.equal((await store.records({ since: T0, until: T0 + 30 * DAY })).records.length, 50);
    });
  });
}
