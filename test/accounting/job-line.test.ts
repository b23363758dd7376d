import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jobLineOf } from '../../src/accounting/job-line';
import type { JobRecord } from '../../src/record/record';
import { accountOf } from '../support/records';
import { mpiMaster, mpiTask, openBracket } from '../report/sample-records';

const GIB = 1024 ** 3;

describe('the line of a parallel job', () => {
  it('counts records and masters, and has the slots of the whole job', () => {
    const line = jobLineOf([mpiMaster(2), mpiTask(1), mpiTask(2)]);
    assert.deepEqual([line.records, line.masters, line.slots], [3, 1, mpiMaster(2).slots]);
  });

  it('has the largest maxvmem of a run, added up over its accounting lines', () => {
    const counted = (record: JobRecord, gib: number, started: string): JobRecord => ({
      ...record,
      started_at: started,
      ended_at: started,
      peak_rss: null,
      grid_engine: accountOf({ maxvmem_bytes: gib * GIB }),
    });
    const runAt = (
      started: string,
      ...gib: readonly [number, number, number]
    ): readonly [JobRecord, ...JobRecord[]] => [
      counted({ ...mpiMaster(2), run_id: started }, gib[0], started),
      counted({ ...mpiTask(1), run_id: started }, gib[1], started),
      counted({ ...mpiTask(2), run_id: started }, gib[2], started),
    ];
    const [first, second] = [runAt('2026-11-20T13:00:00.000Z', 1, 2, 3), runAt('2026-11-20T14:00:00.000Z', 0.5, 3, 5)];
    const line = jobLineOf([...first, ...second]);
    assert.deepEqual([line.largest_counted_bytes, line.is_counted], [8.5 * GIB, true]);
    const partly = jobLineOf(runAt('2026-11-20T13:00:00.000Z', 1, 2, 0));
    assert.deepEqual([partly.largest_counted_bytes, partly.is_counted], [null, true]);
  });

  it('counts as unused, host by host, what all records of the job there left of its limit', () => {
    const hour = { wallclock_seconds: 3600 };
    const master = { ...mpiMaster(2), ...hour };
    const [small, large] = [1, 40].map((gib) => ({
      ...mpiTask(1),
      ...hour,
      peak_rss: openBracket(gib * GIB, null, null),
    }));
    const elsewhere = { ...mpiTask(2), ...hour };
    const unused = (...records: readonly JobRecord[]): number =>
      jobLineOf([master, ...records]).unused_byte_seconds ?? assert.fail();
    const held = (record: JobRecord): number => (record.peak_rss?.lower_bytes ?? 0) * 3600;
    const ofHost = 32 * GIB * 3600;
    assert.equal(unused(small ?? assert.fail()), ofHost - held(master) - GIB * 3600);
    assert.equal(unused(large ?? assert.fail(), elsewhere), ofHost - held(elsewhere));
  });
});
