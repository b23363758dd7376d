import { cpuEfficiency } from '../../../src/record/efficiency';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lineFault } from '../../../src/accounting/import/line-fault';
import { recordOfLine } from '../../../src/accounting/import/line-record';
import { lineRequests } from '../../../src/accounting/import/line-requests';
import { deletedByForce, endUnseen, succeeded } from '../../../src/record/job-end';
import type { JobRecord } from '../../../src/record/record';
import type { AccountingRecord } from '../../../src/gridengine/accounting-line';
import { parseAccountingLine } from '../../gridengine/parse-accounting-line';
import { sampleLine } from './sample-lines';
import { RequestRules, USUAL_RULES } from '../../../src/record/request-rules';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';

const GIB = 2 ** 30;

function line(changes: Partial<AccountingRecord> = {}): AccountingRecord {
  const parsed = parseAccountingLine(sampleLine(7).trimEnd());
  assert.ok(parsed.ok);
  return { ...parsed.value, ...changes };
}
const record = (changes: Partial<AccountingRecord> = {}) => recordOfLine(line(changes), { cluster: 'cell' });

describe('recordOfLine', () => {
  it('has all figures of the line, and a note that no hooks ran', () => {
    const made = record();
    assert.equal(made.run_id, 'accounting.1763700007');
    assert.deepEqual([made.trust, made.status, made.failed, made.signal], ['accounting', 'unsampled', 0, 0]);
    assert.equal(made.started_at, '2025-11-21T04:40:07.000Z');
    assert.deepEqual([made.slots, made.host_slots, made.task_id, made.peak_rss], [1, 1, null, null]);
    assert.deepEqual([made.wallclock_seconds, made.cpu_seconds, cpuEfficiency(made)], [60, 12.5, 12.5 / 60]);
    assert.deepEqual(made.h_vmem, { request_bytes: GIB, limit_bytes: GIB, per: 'slot' });
    assert.deepEqual(made.grid_engine, {
      wallclock_seconds: 60,
      cpu_seconds: 12.5,
      user_seconds: 12,
      system_seconds: 0.5,
      maxvmem_bytes: 322961408,
      maxrss_bytes: 315172 * 1024,
      mem_gib_seconds: 3.75,
      io_gib: 0.015625,
      category: '-l h_vmem=1G',
      submit_command: null,
      deleted_by: null,
      lines: 1,
    });
    assert.match(made.notes.join(), /no hooks ran/);
  });

  it('keeps the submit command, cut to 4096 bytes', () => {
    const kept = (submitCommand: string): string =>
      record({ submitCommand }).grid_engine?.submit_command ?? assert.fail();
    assert.equal(kept('qsub -cwd sim.sh'), 'qsub -cwd sim.sh');
    assert.equal(Buffer.byteLength(kept(`qsub -N ${'\u00e9'.repeat(4000)}`)), 4096);
  });

  it('has a signal only if Grid Engine reports one', () => {
    assert.equal(record({ failed: 100, exitStatus: 137 }).signal, 9);
    assert.equal(record({ failed: 37, exitStatus: 152 }).signal, 24);
    // The shell may have passed on the status of its child.
    assert.equal(record({ failed: 0, exitStatus: 137 }).signal, 0);
    assert.equal(record({ failed: 26, exitStatus: 0 }).signal, null);
  });

  it('gives a job that never started its own run id, and a note with the reason', () => {
    const never = { startTimeMs: null, endTimeMs: null, failed: 26, host: '(null)', queue: 'UNKNOWN', slots: 0 };
    const made = recordOfLine(
      { ...line({ ...never, wallclockSeconds: 0 }), place: '1763700009.0123abcd.3' },
      { cluster: 'cell' },
    );
    assert.equal(made.run_id, 'accounting.0.1763700002.1763700009.0123abcd.3');
    assert.deepEqual([made.host, made.queue, made.slots, made.started_at], ['UNKNOWN', null, null, null]);
    assert.deepEqual(made.notes, ['It never started: an output file could not be opened.']);
  });

  it('knows nothing of the end of a job whose spool directory execd had lost', () => {
    const never = { startTimeMs: null, endTimeMs: null, submissionTimeMs: null, failed: 0, wallclockSeconds: 0 };
    const made = record({ ...never, host: 'ge1' });
    assert.deepEqual([made.exit_status, made.signal, made.failed], [null, null, 0]);
    assert.match(made.notes.join(), /^Whether it started is not known: /);
    const times = { started_at: '2026-11-30T10:00:00.000Z', ended_at: '2026-11-30T11:00:00.000Z' };
    const joined: JobRecord = { ...made, ...times, status: 'lost' };
    assert.deepEqual([endUnseen(joined), deletedByForce(joined), succeeded(joined)], [true, false, null]);
  });

  it("multiplies a master's request by the slots of the job, which its CPU time is compared with, too: it has none of its host", () => {
    const made = record({ pe: 'mpi', slots: 16 });
    assert.deepEqual(made.h_vmem, { request_bytes: GIB, limit_bytes: 16 * GIB, per: 'slot' });
    assert.deepEqual([made.slots, made.host_slots, cpuEfficiency(made)], [16, null, 12.5 / (60 * 16)]);
    const task = record({ pe: 'mpi', slots: 16, peTaskId: '1.ge2' });
    assert.deepEqual([task.h_vmem, task.host_slots, cpuEfficiency(task)], [null, null, null]);
  });

  it('has no request from a scope of the master or of slaves', () => {
    const category =
      '-scope global -hard -l h_rt=600 -scope master -hard -l h_vmem=68719476736 -scope slave -hard -l mem_free=2G -pe mpi 16';
    const made = record({ pe: 'mpi', slots: 16, category });
    assert.deepEqual([made.h_vmem, made.requests, made.grid_engine?.category], [null, {}, category]);
  });

  it('takes the elapsed time from start and end if the line has none', () => {
    assert.equal(record({ wallclockSeconds: 0 }).wallclock_seconds, 60);
    assert.equal(record({ wallclockSeconds: 0 }).grid_engine?.wallclock_seconds, 0);
  });

  it('knows no CPU time of a job that was deleted by force: the line has its times and no usage', () => {
    const cpuOf = (more: Partial<AccountingRecord>): number | null =>
      record({ wallclockSeconds: 0, cpuSeconds: 0, ...more }).cpu_seconds;
    assert.deepEqual([cpuOf({}), cpuOf({ failed: 100 }), cpuOf({ wallclockSeconds: 60 })], [null, 0, 0]);
  });

  it('cuts a category that is too long, and still reads its requests', () => {
    const category = `-l h_vmem=1G ${'\u00e4'.repeat(4000)}`;
    const made = record({ category });
    assert.ok(Buffer.byteLength(made.grid_engine?.category ?? '') <= 4096);
    assert.equal(made.h_vmem?.limit_bytes, GIB);
  });
});

describe('lineRequests', () => {
  it('scales requests by slots, job or host, as Grid Engine does', () => {
    const { h_vmem, requests } = lineRequests('-l h_vmem=2G,mem_limit=3G,mem_free=500m,h_rt=60', 4, USUAL_RULES);
    assert.deepEqual(h_vmem, { request_bytes: 2 * GIB, limit_bytes: 8 * GIB, per: 'slot' });
    assert.deepEqual(requests, {
      mem_limit: { request_bytes: 3 * GIB, limit_bytes: 3 * GIB, per: 'job' },
      mem_free: { request_bytes: 500e6, limit_bytes: 2000e6, per: 'slot' },
    });
    const none = lineRequests('-l h_vmem=0,mem_free=0', 2, USUAL_RULES);
    assert.deepEqual(none.h_vmem, { request_bytes: 0, limit_bytes: 20 * 1024 ** 2, per: 'slot' });
    assert.equal(none.requests.mem_free?.limit_bytes, 0);
    assert.equal(lineRequests('-l h_vmem=INFINITY', 1, USUAL_RULES).h_vmem, null);
    const perJob = lineRequests(
      '-l h_vmem=2G',
      4,
      new RequestRules({ ...DEFAULT_SETTINGS, job_complexes: ['h_vmem'] }),
    );
    assert.deepEqual(perJob.h_vmem, { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'job' });
    const perHost = new RequestRules({ ...DEFAULT_SETTINGS, host_complexes: ['mem_free'] });
    const free = lineRequests('-l mem_free=2G', 4, perHost).requests.mem_free;
    assert.deepEqual(free, { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'host' });
  });
});

describe('lineFault', () => {
  it('refuses values that no job can have', () => {
    assert.equal(lineFault(line()), null);
    for (const changes of [
      { jobId: 0 },
      { jobId: 1.5 },
      { task: -1 },
      { slots: 0.5 },
      { slots: 10_000_001 },
      { exitStatus: 4294967295 },
      { failed: 1e10 },
      { endTimeMs: 1e15 },
      { cpuSeconds: 1e13 },
      { maxvmemBytes: 1e17 },
      { owner: '' },
      { host: 'x'.repeat(2000) },
    ])
      assert.notEqual(lineFault(line(changes)), null, JSON.stringify(changes).slice(0, 60));
  });
});
