import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostNames } from '../../src/gridengine/host-names';
import { figuresOfJob, figuresOfPart, recordsByPart } from '../../src/live/our-figures';
import { AT, bracket, running } from './snapshots';

const STARTED = AT - 3_600_000;
const nameOf = hostNames(['node01.example.org']);
const at = { job: 1, task: null, host: 'node01.example.org' };
const all = { master: true, tasks: 0, past: false };
const alone = { master: false, tasks: 0, past: false };

describe('recordsByPart', () => {
  it('finds a record by job, task and host, by any name of the host', () => {
    const of = recordsByPart([running(1, 'node01', [5])], nameOf);
    assert.equal(of(at, STARTED).length, 1);
    assert.deepEqual(
      [of({ ...at, task: 1 }, STARTED), of({ ...at, job: 2 }, STARTED), of({ ...at, host: 'b' }, STARTED)],
      [[], [], []],
    );
  });

  it('takes the newest record of a task, and one of each slave task', () => {
    const of = recordsByPart(
      [
        running(1, 'node01', [1], { revision: AT - 1, run_id: 'a' }),
        running(1, 'node01', [2], { run_id: 'b' }),
        running(1, 'node01', [3], { pe_task_id: '1.node01' }),
      ],
      nameOf,
    );
    assert.deepEqual(
      of(at, STARTED).map(({ series }) => series?.rss_bytes),
      [[2], [3]],
    );
  });

  it('takes a record of root rather than a later self-reported one', () => {
    const records = [
      running(1, 'node01', [2], { run_id: 'b' }),
      running(1, 'node01', [9], { revision: AT + 9e9, run_id: 'c', trust: 'self-reported' }),
    ];
    for (const order of [records, records.toReversed()])
      assert.deepEqual(
        recordsByPart(order, nameOf)(at, STARTED).map(({ series }) => series?.rss_bytes),
        [[2]],
      );
  });

  it('leaves out records of an earlier job with the same number, and of ended jobs', () => {
    const old = new Date(STARTED - 3_600_000).toISOString();
    const records = [
      running(1, 'node01', [1], { started_at: old }),
      running(1, 'node01', [1], { started_at: null, revision: STARTED - 3_600_000 }),
      running(1, 'node01', [1], { status: 'finished' }),
    ];
    for (const record of records) assert.deepEqual(recordsByPart([record], nameOf)(at, STARTED), []);
    assert.equal(recordsByPart([running(1, 'node01', [1], { started_at: old })], nameOf)(at, null).length, 1);
  });

  it('allows clocks to differ by some seconds', () => {
    const started_at = new Date(STARTED - 30_000).toISOString();
    assert.equal(recordsByPart([running(1, 'node01', [1], { started_at })], nameOf)(at, STARTED).length, 1);
  });
});

describe('figuresOfPart', () => {
  const master = running(1, 'node01', [2, 7, 5], { peak_rss: bracket(7, 9) });
  const task = running(1, 'node01', [4], { pe_task_id: '1.node01', peak_rss: bracket(4, 6), revision: AT - 5 });

  it('takes the last value and the bounds of a single record', () => {
    assert.deepEqual(figuresOfPart([master], all), { rss: 5, lower: 7, upper: 9, at: AT });
    assert.equal(figuresOfPart([], all), null);
  });

  it('sums memory in use and upper bounds, and takes the largest lower bound', () => {
    assert.deepEqual(figuresOfPart([master, task], { ...all, tasks: 1 }), { rss: 9, lower: 7, upper: 15, at: AT - 5 });
  });

  it('has no sums where the record of the master or of a slave task is missing', () => {
    for (const [records, expected] of [
      [[task], all],
      [[master], { ...all, tasks: 1 }],
      [[task], { ...alone, tasks: 2 }],
    ] as const) {
      const figures = figuresOfPart(records, expected);
      assert.deepEqual([figures?.rss, figures?.upper], [null, null]);
      assert.notEqual(figures?.lower, null);
    }
  });

  it('has no upper bound where slave tasks have ended', () => {
    assert.deepEqual(figuresOfPart([master], { ...all, past: true }), { rss: 5, lower: 7, upper: null, at: AT });
  });

  it('has no upper bound where one record has none', () => {
    const open = { ...task, peak_rss: bracket(4, null) };
    assert.equal(figuresOfPart([master, open], all)?.upper, null);
  });

  it('handles a record without figures', () => {
    assert.deepEqual(figuresOfPart([{ ...master, peak_rss: null, series: null }], all), {
      rss: null,
      lower: null,
      upper: null,
      at: AT,
    });
  });
});

describe('figuresOfJob', () => {
  const one = { rss: 5, lower: 7, upper: 9, at: AT };

  it('sums its hosts', () => {
    assert.deepEqual(figuresOfJob([one, { ...one, lower: 8, at: AT - 1 }]), {
      rss: 10,
      lower: 8,
      upper: 18,
      at: AT - 1,
    });
  });

  it('has no sums where a host is missing, and is null where all are', () => {
    assert.deepEqual(figuresOfJob([one, null]), { rss: null, lower: 7, upper: null, at: AT });
    assert.equal(figuresOfJob([null]), null);
  });
});
