import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { arrangeAttempts, mastersOfTasks } from '../../src/accounting/attempts';
import { asStored } from '../../src/record/merge';
import type { StoredRecord } from '../../src/record/merge';
import type { JobRecord } from '../../src/record/record';
import { recordOf } from '../support/records';
import { oneOf } from '../tries';
import { plainAttempts } from './plain-attempts';
import { cpuMs } from '../support/cpu-time';

const T0 = Date.UTC(2026, 10, 1);
const DAY = 86_400_000;
const iso = (ms: number): string => new Date(ms).toISOString();

function run(runId: string, fields: Partial<JobRecord>): StoredRecord {
  return asStored(recordOf({ job_id: 7, run_id: runId, revision: T0, ...fields }));
}

function numbering(
  records: readonly StoredRecord[],
  choice: Parameters<typeof arrangeAttempts>[1] = { all: true },
): unknown {
  return arrangeAttempts(records, choice).records.map(
    ({ record, incarnation, attempt, attempts }) => `${record.run_id}: ${incarnation}, ${attempt} of ${attempts}`,
  );
}

it('orders attempts by their start, then by run id', () => {
  const submitted_at = iso(T0);
  assert.deepEqual(
    numbering([
      run('c', { submitted_at, started_at: iso(T0 + 2000) }),
      run('b', { submitted_at, started_at: iso(T0 + 1000) }),
      run('a', { submitted_at, started_at: iso(T0 + 2000) }),
    ]),
    ['b: 1, 1 of 3', 'a: 1, 2 of 3', 'c: 1, 3 of 3'],
  );
});

it('counts submissions up to 2 s apart as one', () => {
  const records = [
    run('a', { submitted_at: iso(T0 + 900), started_at: iso(T0 + 5000) }),
    run('b', { submitted_at: iso(T0), started_at: iso(T0 + 6000) }),
    run('c', { submitted_at: iso(T0 + DAY), started_at: iso(T0 + DAY) }),
  ];
  assert.deepEqual(numbering(records), ['a: 1, 1 of 2', 'b: 1, 2 of 2', 'c: 2, 1 of 1']);
});

it('counts a run that was submitted shortly after another ended as the next attempt of the same job', () => {
  const records = [
    run('a', { submitted_at: iso(T0), started_at: iso(T0), ended_at: iso(T0 + 8000) }),
    run('b', { submitted_at: iso(T0 + 9000), started_at: iso(T0 + 10_000), ended_at: iso(T0 + DAY) }),
    run('c', { submitted_at: iso(T0 + DAY + 1000), started_at: iso(T0 + DAY + 2000) }),
    run('d', { submitted_at: iso(T0 + 3 * DAY), started_at: iso(T0 + 3 * DAY) }),
  ];
  assert.deepEqual(numbering(records), ['a: 1, 1 of 3', 'b: 1, 2 of 3', 'c: 1, 3 of 3', 'd: 2, 1 of 1']);
});

it('counts a run that never started as one of the job that was submitted anew after it', () => {
  const never = (at: number): Partial<JobRecord> => ({ submitted_at: iso(T0 + at), ended_at: iso(T0 + at + 4500) });
  const records = [
    run('a', never(0)),
    run('b', never(4000)),
    run('c', { submitted_at: iso(T0 + 8000), started_at: iso(T0 + 9000), ended_at: iso(T0 + 10_000) }),
    run('d', { submitted_at: iso(T0 + DAY) }),
  ];
  assert.deepEqual(numbering(records), ['a: 1, 1 of 3', 'b: 1, 2 of 3', 'c: 1, 3 of 3', 'd: 2, 1 of 1']);
});

describe('a self-reported record of another user with the number of a job', () => {
  const of = (owner: string, trust: JobRecord['trust'], at: number): Partial<JobRecord> => ({
    owner,
    trust,
    submitted_at: iso(at),
    started_at: iso(at + 1000),
    ended_at: iso(at + 60_000),
  });

  it('is no attempt of that job, and never the newest', () => {
    for (const later of [61_000, DAY]) {
      const records = [run('a', of('alice', 'root', T0)), run('m', of('mallory', 'self-reported', T0 + later))];
      assert.deepEqual(numbering(records), ['m: 1, 1 of 1', 'a: 2, 1 of 1']);
      assert.deepEqual(numbering(records, {}), ['a: 2, 1 of 1']);
    }
  });

  it('is numbered in the same way whatever the order of the records', () => {
    const records = [
      run('z', of('zoe', 'self-reported', T0)),
      run('a', of('alice', 'root', T0)),
      run('m', of('mallory', 'self-reported', T0)),
    ];
    assert.deepEqual(numbering(records), numbering([...records].reverse()));
  });

  it('gets no slave task of that job', () => {
    const records = [
      run('m', { ...of('mallory', 'self-reported', T0), pe_task_id: null }),
      run('t', { ...of('alice', 'root', T0 + 5000), pe_task_id: '1.ge1' }),
    ];
    assert.equal(mastersOfTasks(records).size, 0);
  });

  it('is a job of its own if the number was used again, or if the owner is the same', () => {
    const records = [run('a', of('alice', 'root', T0)), run('m', of('mallory', 'self-reported', T0 + 60 * DAY))];
    assert.deepEqual(numbering(records), ['a: 1, 1 of 1', 'm: 2, 1 of 1']);
    const own = [run('a', of('bob', 'accounting', T0)), run('m', of('bob', 'self-reported', T0 + DAY))];
    assert.deepEqual(numbering(own), ['a: 1, 1 of 1', 'm: 2, 1 of 1']);
  });
});

it('gives a record without a submission to the job that had the number when it began', () => {
  const records = [
    run('a', { submitted_at: iso(T0) }),
    run('b', { submitted_at: iso(T0 + 100 * DAY) }),
    run('early', { started_at: iso(T0 + DAY) }),
    run('late', { started_at: iso(T0 + 101 * DAY) }),
    run('before', { started_at: iso(T0 - DAY) }),
  ];
  assert.deepEqual(numbering(records), [
    'before: 1, 1 of 3',
    'a: 1, 2 of 3',
    'early: 1, 3 of 3',
    'b: 2, 1 of 2',
    'late: 2, 2 of 2',
  ]);
});

it('counts records without any submission as one job', () => {
  assert.deepEqual(numbering([run('a', {}), run('b', {})]), ['a: 1, 1 of 2', 'b: 1, 2 of 2']);
});

it('picks a job by time, and counts the older and newer jobs with its number', () => {
  const records = [0, 1, 2].map((year) => run(`y${year}`, { submitted_at: iso(T0 + year * 365 * DAY) }));
  const pick = (choice: Parameters<typeof arrangeAttempts>[1]): unknown => {
    const { records: picked, older_incarnations, newer_incarnations } = arrangeAttempts(records, choice);
    return [picked.map(({ record }) => record.run_id), older_incarnations, newer_incarnations];
  };
  assert.deepEqual(pick({}), [['y2'], 2, 0]);
  assert.deepEqual(pick({ at: T0 + 400 * DAY }), [['y1'], 1, 1]);
  assert.deepEqual(pick({ at: T0 }), [['y0'], 0, 2]);
  assert.deepEqual(pick({ at: T0 - 1 }), [[], 0, 3]);
});

it('does not mix clusters', () => {
  const records = [run('a', { submitted_at: iso(T0) }), run('b', { submitted_at: iso(T0 + DAY), cluster: 'other' })];
  assert.deepEqual(numbering(records, {}), ['a: 1, 1 of 1', 'b: 1, 1 of 1']);
});

describe('slave tasks of parallel jobs', () => {
  const submitted_at = iso(T0);
  const master = (runId: string, from: number, to: number | null, fields: Partial<JobRecord> = {}): StoredRecord =>
    run(runId, { submitted_at, started_at: iso(T0 + from), ended_at: to === null ? null : iso(T0 + to), ...fields });
  const task = (runId: string, id: string, from: number, fields: Partial<JobRecord> = {}): StoredRecord =>
    run(runId, { submitted_at, started_at: iso(T0 + from), pe_task_id: id, host: id.split('.')[1] ?? '', ...fields });

  it('belong to the run of the master during which they began', () => {
    assert.deepEqual(
      numbering([
        master('m1', 0, 10_000),
        master('m2', 60_000, 90_000),
        task('a', '1.node2', 1000),
        task('b', '2.node2', 2000),
        task('c', '1.node3', 61_000),
        task('outlives', '3.node2', 9000, { ended_at: iso(T0 + 70_000) }),
      ]),
      ['m1: 1, 1 of 2', 'm2: 1, 2 of 2', 'a: 1, 1 of 2', 'c: 1, 2 of 2', 'b: 1, 1 of 2', 'outlives: 1, 1 of 2'],
    );
  });

  it('may begin up to 2 s before their master, by the clock of another host', () => {
    const early = [master('m1', 0, 10_000), master('m2', 60_000, 90_000), task('a', '1.node2', 58_500)];
    assert.deepEqual(numbering(early), ['m1: 1, 1 of 2', 'm2: 1, 2 of 2', 'a: 1, 2 of 2']);
    const first = [master('m1', 0, 10_000), task('a', '1.node2', -1900)];
    assert.deepEqual(numbering(first), ['m1: 1, 1 of 1', 'a: 1, 1 of 1']);
    const within = [master('m1', 0, 59_000), master('m2', 60_000, 90_000), task('a', '1.node2', 58_500)];
    assert.deepEqual(numbering(within), ['m1: 1, 1 of 2', 'm2: 1, 2 of 2', 'a: 1, 1 of 2']);
  });

  it('of a run without a record of its master are a run of their own', () => {
    assert.deepEqual(numbering([task('a', '1.node2', 0), master('m2', 60_000, 90_000), task('b', '1.node2', 61_000)]), [
      'm2: 1, 2 of 2',
      'a: 1, 1 of 2',
      'b: 1, 2 of 2',
    ]);
    assert.deepEqual(
      numbering([
        task('a', '1.node2', 0),
        task('b', '1.node3', 100),
        task('c', '2.node2', 200),
        task('d', '1.node2', 60_000),
        task('e', '1.node3', 60_100),
      ]),
      ['a: 1, 1 of 2', 'd: 1, 2 of 2', 'b: 1, 1 of 2', 'e: 1, 2 of 2', 'c: 1, 1 of 2'],
    );
  });

  it('belong to the job whenever their own qrsh was started', () => {
    const late = { submitted_at: iso(T0 + 5000) };
    assert.deepEqual(
      numbering([master('m1', 0, 10_000), task('a', '1.node2', 5000, late), task('b', '1.node3', 6000, late)]),
      ['m1: 1, 1 of 1', 'a: 1, 1 of 1', 'b: 1, 1 of 1'],
    );
    assert.deepEqual(numbering([task('a', '1.node2', 5000, late), task('b', '1.node3', 6000)]), [
      'a: 1, 1 of 1',
      'b: 1, 1 of 1',
    ]);
  });

  it('of different array tasks do not mix', () => {
    assert.deepEqual(
      numbering([
        master('m1', 0, 10_000, { task_id: 1 }),
        master('m2', 0, 10_000, { task_id: 2 }),
        task('a', '1.node2', 1000, { task_id: 1 }),
        task('b', '1.node2', 1000, { task_id: 2 }),
      ]),
      ['m1: 1, 1 of 1', 'a: 1, 1 of 1', 'm2: 1, 1 of 1', 'b: 1, 1 of 1'],
    );
  });
});

it('takes a job that was submitted anew when a run of it was over for the same one', () => {
  const records = [
    run('first', { submitted_at: iso(T0), started_at: iso(T0 + 1000), ended_at: iso(T0 + DAY) }),
    run('again', { submitted_at: iso(T0 + DAY + 5000), started_at: iso(T0 + DAY + 9000) }),
    run('other', { submitted_at: iso(T0 + 9 * DAY), started_at: iso(T0 + 9 * DAY) }),
  ];
  assert.deepEqual(numbering(records), ['first: 1, 1 of 2', 'again: 1, 2 of 2', 'other: 2, 1 of 1']);
});

it('gives the same attempts as a plain, slow implementation', () => {
  const minutes = (most: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: most }).map((it) => it * 60_000);
  const seconds = fc.integer({ min: -3, max: 3 }).map((it) => it * 1000);
  const time = fc.oneof(
    fc.tuple(minutes(3), seconds).map(([a, b]) => iso(T0 + a + b)),
    fc.tuple(minutes(300), seconds).map(([a, b]) => iso(T0 + a + b)),
    fc.integer({ min: 0, max: 4 }).map((day) => iso(T0 + day * DAY)),
  );
  const record = fc.record({
    cluster: fc.constantFrom('cell', 'cell', 'cell', 'other'),
    task_id: fc.constantFrom(null, null, null, 1),
    pe_task_id: fc.constantFrom(null, null, '1.node2', '2.node2'),
    host: fc.constantFrom('node1', 'node2'),
    submitted_at: fc.option(time, { freq: 4 }),
    started_at: fc.option(time, { freq: 4 }),
    ended_at: fc.option(time, { freq: 2 }),
    runId: fc.constantFrom('a', 'b', 'c'),
  });
  fc.assert(
    fc.property(fc.array(record, { maxLength: 12 }), (all) => {
      const records = all.map(({ runId, ...fields }) => run(runId, fields));
      assert.deepEqual(arrangeAttempts(records, { all: true }).records, plainAttempts(records));
    }),
    { numRuns: 500 },
  );
});

describe('arranging ten thousand records with one job number', () => {
  const COUNT = 10_000;
  const times = Array.from({ length: COUNT }, (_, index) => T0 + index * 60_000);
  const isFast = (records: readonly StoredRecord[]): Promise<void> =>
    oneOf(3, () => {
      const start = cpuMs();
      assert.equal(arrangeAttempts(records, { all: true }).records.length, records.length);
      assert.ok(cpuMs() - start < 2000);
    });

  it('is fast if each was submitted anew', () =>
    isFast(
      times.map((time, index) =>
        run(`a.${index}`, { submitted_at: iso(time), started_at: iso(time + 5000), ended_at: iso(time + 20_000) }),
      ),
    ));

  it('is fast if each is a job of its own', () =>
    isFast(
      times.map((_, index) => {
        const time = T0 + (index - COUNT) * DAY;
        return run(`a.${index}`, { submitted_at: iso(time), started_at: iso(time), ended_at: iso(time + 20_000) });
      }),
    ));

  it('is fast if each is a rerun with a slave task', () =>
    isFast(
      times.flatMap((time, index) => {
        const fields = { submitted_at: iso(T0), ended_at: iso(time + 3000) };
        return [
          run(`a.${index}`, { ...fields, started_at: iso(time) }),
          run(`b.${index}`, { ...fields, started_at: iso(time + 100), pe_task_id: '1.node2', host: 'node2' }),
        ];
      }),
    ));
});
