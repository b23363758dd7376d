import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobRecord } from '../../../src/record/record';
import { renderRecordList } from '../../../src/report/records/list';
import { firstWaits, waitsOf } from '../../../src/report/records/waits';
import { noTotals } from '../../../src/record/totals';
import { ordinary } from '../sample-records';
import { testScreen } from '../screens';

const GIB = 2 ** 30;
const SUBMITTED = Date.parse('2026-11-20T10:00:00Z');

interface Given {
  readonly job: number;
  readonly gib: number | null;
  /** Seconds. */
  readonly wait: number;
  readonly more?: Partial<JobRecord>;
}

const started = ({ job, gib, wait, more = {} }: Given): JobRecord => ({
  ...ordinary,
  job_id: job,
  queue: 'all.q',
  submitted_at: new Date(SUBMITTED).toISOString(),
  started_at: new Date(SUBMITTED + wait * 1000).toISOString(),
  requests: {},
  h_vmem: gib === null ? null : { request_bytes: gib * GIB, limit_bytes: gib * GIB, per: 'slot' },
  ...more,
});

/** Jobs that waited 1, 2, 3 ... times `wait` seconds. */
const jobs = (count: number, first: number, { gib, wait, more }: Omit<Given, 'job'>): JobRecord[] =>
  Array.from({ length: count }, (_, index) =>
    started({ job: first + index, gib, wait: wait * (index + 1), ...(more === undefined ? {} : { more }) }),
  );

const small = jobs(7, 100, { gib: 4, wait: 10 });
const large = jobs(5, 200, { gib: 300, wait: 3600 });

describe('wait times by size of the request', () => {
  it('are medians for each queue and size', () => {
    assert.deepEqual(waitsOf(firstWaits([...large, ...small])), [
      {
        queue: 'all.q',
        sizes: [
          { from_bytes: 0, to_bytes: 4 * GIB, jobs: 7, median_seconds: 40 },
          { from_bytes: 256 * GIB, to_bytes: null, jobs: 5, median_seconds: 3 * 3600 },
        ],
      },
    ]);
  });

  it('count a job once, at its first start, and leave out records without a size, a queue or a wait', () => {
    const again = started({ job: 100, gib: 4, wait: 90_000, more: { run_id: 'badcafe.9.9' } });
    const nothing = [
      started({ job: 1, gib: null, wait: 5 }),
      started({ job: 2, gib: 4, wait: -5 }),
      started({ job: 3, gib: 4, wait: 5, more: { submitted_at: null } }),
      started({ job: 4, gib: 4, wait: 5, more: { pe_task_id: '1.node07' } }),
      started({ job: 5, gib: 4, wait: 5, more: { queue: null } }),
    ];
    assert.deepEqual(
      waitsOf(firstWaits([again, ...nothing, ...small, ...large])),
      waitsOf(firstWaits([...small, ...large])),
    );
  });

  it('are shown for queues with enough jobs of two sizes, the busiest queue first', () => {
    const few = jobs(4, 300, { gib: 8, wait: 1, more: { queue: 'few.q@node01' } });
    const one = jobs(50, 400, { gib: 8, wait: 1, more: { queue: 'one.q' } });
    const busy = [4, 8, 32].flatMap((gib, index) =>
      jobs(20, 500 + 20 * index, { gib, wait: gib, more: { queue: 'busy.q@node01' } }),
    );
    const waits = waitsOf(firstWaits([...small, ...few, ...one, ...busy, ...large]));
    assert.deepEqual(
      waits.map(({ queue, sizes }) => [queue, sizes.map((size) => size.jobs)]),
      [
        ['busy.q', [20, 20, 20]],
        ['all.q', [7, 5]],
      ],
    );
  });

  it('are a table below an owner’s list, without control characters', () => {
    const queue = '=cmd\u001b[31m';
    const hostile = [...small, ...large].map((record) => ({ ...record, queue }));
    const list = {
      title: 'Jobs of bob',
      since: new Date(SUBMITTED),
      until: new Date(SUBMITTED),
      lines: [],
      totals: { ...noTotals(), records: 500, jobs: 500 },
      all: 500,
      view: { columns: ['job'] as const, chosen: false, width: 80 },
    };
    const text = (records: readonly JobRecord[]): string =>
      renderRecordList(
        { ...list, waits: { queues: waitsOf(firstWaits(records)), records: 12 } },
        testScreen({ width: 80 }),
      ).join('\n');
    const shown = text([...small, ...large]);
    assert.match(shown, /\nWait by requested memory\n +queue +requested +jobs +median wait\n/);
    assert.match(shown, /\n +all\.q +to 4 GiB +7 +40 s\n +above 256 GiB +5 +3:00:00\n/);
    assert.match(shown, / From submission to the first start, .* Of the\n +newest 12 records\.\n/);
    assert.ok(!text(hostile).includes('\u001b'));
    assert.doesNotMatch(text(small), /Wait by/);
  });
});
