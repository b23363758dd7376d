import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { killedByMemory, memoryEnd } from '../../src/record/cause';
import type { Bracket, GridEngineAccount, JobRecord } from '../../src/record/record';
import { killedAtLimit, ordinary, openBracket } from '../report/sample-records';
import { arbitraryRecord } from '../accounting/arbitrary-record';
import { accountOf } from '../support/records';

const GIB = 1024 ** 3;

const grown = (bracket: Bracket | null, by: number): Bracket | null =>
  bracket === null
    ? null
    : {
        ...bracket,
        lower_bytes: bracket.lower_bytes + by,
        upper_bytes: bracket.upper_bytes === null ? null : bracket.upper_bytes + by,
      };

const account = (maxvmem: number): GridEngineAccount =>
  accountOf({ wallclock_seconds: 600, cpu_seconds: 590, maxvmem_bytes: maxvmem });

const KILLED = { exit_status: 137, signal: 9 };
const NO_PEAKS = { peak_rss: null, peak_rss_swap: null, peak_vmem: null, peak_process_vmem: null };

describe('killedByMemory', () => {
  const is = (expected: boolean, changes: Partial<JobRecord>): void =>
    assert.equal(killedByMemory({ ...ordinary, ...changes }), expected);

  it('is true of a kill near the limit, of refused memory and of a kill by the kernel', () => {
    assert.equal(memoryEnd(killedAtLimit)?.by, 'execd');
    is(true, { ...KILLED, peak_rss_swap: openBracket(15 * GIB, null, null) });
    is(false, { ...KILLED, peak_rss_swap: openBracket(14 * GIB, null, null) });
    is(true, { exit_status: 1, peak_process_vmem: openBracket(15 * GIB, null, null) });
    is(true, { exit_status: 139, peak_process_vmem: openBracket(15 * GIB, null, null) });
    is(false, { exit_status: 143, peak_process_vmem: openBracket(15 * GIB, null, null) });
    is(true, { ...KILLED, metrics: { cgroup_oom_kills: 1 } });
    is(true, { exit_status: 1, metrics: { cgroup_oom_kills: 1 } });
    is(true, { ...KILLED, metrics: { taskstats_node_oom_kills: 1 } });
    is(true, { exit_status: 143, metrics: { taskstats_cgroup_oom_kills: 1 } });
    is(false, { exit_status: 143 });
    is(false, { exit_status: 139, metrics: { cgroup_oom_kills: 1 } });
    is(false, { exit_status: 1, metrics: { cgroup_oom_kills: 0 } });
  });

  it('is false for a job that failed before it ran or whose epilog failed', () => {
    is(false, { ...KILLED, failed: 8, peak_rss_swap: openBracket(16 * GIB, null, null) });
    is(false, { exit_status: 0, failed: 15, peak_process_vmem: openBracket(16 * GIB, null, null) });
  });

  it('is true without an exit status only if Grid Engine reports a limit as the cause', () => {
    const unknown = { exit_status: null, signal: null, peak_rss_swap: openBracket(15 * GIB, null, null) };
    is(true, { ...unknown, failed: 37 });
    is(false, unknown);
  });

  it("takes Grid Engine's maxvmem for a job without peaks, unless it may be the reserved amount", () => {
    is(true, { ...NO_PEAKS, ...KILLED, signal: null, grid_engine: account(16.1 * GIB) });
    is(false, { ...NO_PEAKS, ...KILLED, signal: null, grid_engine: account(2 * GIB) });
    // Exactly the limit: with ACCT_RESERVED_USAGE maxvmem is the reserved amount.
    for (const failed of [37, 100])
      is(false, { ...NO_PEAKS, ...KILLED, signal: null, failed, grid_engine: account(16 * GIB) });
  });

  it('compares a request per job times the slots with all processes, the request alone with each process', () => {
    const h_vmem = { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'job' } as const;
    is(false, { ...KILLED, h_vmem, peak_rss_swap: openBracket(8 * GIB, null, null) });
    is(true, { ...KILLED, h_vmem, peak_rss_swap: openBracket(15 * GIB, null, null) });
    is(false, { ...NO_PEAKS, ...KILLED, failed: 37, h_vmem, grid_engine: account(8 * GIB) });
    is(true, { exit_status: 1, h_vmem, peak_process_vmem: openBracket(3.9 * GIB, null, null) });
  });

  it('takes a request per host times the slots for the limit, of a slave task on each process the request alone', () => {
    const h_vmem = { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'host' } as const;
    is(false, { ...KILLED, h_vmem, peak_rss_swap: openBracket(8 * GIB, null, null) });
    is(true, { ...KILLED, h_vmem, peak_rss_swap: openBracket(15 * GIB, null, null) });
    const refused = { exit_status: 1, h_vmem, peak_process_vmem: openBracket(3.9 * GIB, null, null) };
    is(false, refused);
    is(true, { ...refused, pe_task_id: '1.node02' });
    is(true, { ...refused, peak_process_vmem: openBracket(15.9 * GIB, null, null) });
  });

  it("judges a slave task that execd killed between two samples by the task's own accounting line", () => {
    const task = {
      ...KILLED,
      failed: 100,
      pe: 'orte',
      pe_task_id: '1.node02',
      peak_rss_swap: openBracket(GIB, null, null),
    };
    is(true, { ...task, grid_engine: account(16.1 * GIB) });
    is(false, { ...task, grid_engine: account(15.9 * GIB) });
    is(true, { ...task, grid_engine: account(9 * GIB), peak_rss_swap: openBracket(16 * GIB, null, null) });
    is(false, { ...task, exit_status: 1, signal: 0, failed: 0, grid_engine: account(16.1 * GIB) });
  });

  it('is false for a job that ended well, has no limit or an unknown end', () => {
    is(false, { peak_rss_swap: openBracket(16 * GIB, null, null) });
    is(false, { ...KILLED, h_vmem: null, peak_rss_swap: openBracket(16 * GIB, null, null) });
    is(false, { exit_status: null, signal: null, peak_rss_swap: openBracket(16 * GIB, null, null) });
  });

  it('stays true if the job had used more or had a lower limit', () => {
    fc.assert(
      fc.property(
        arbitraryRecord(),
        fc.nat({ max: 2 ** 50 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (record, by, share) => {
          if (!killedByMemory(record)) return;
          const limit = record.h_vmem?.limit_bytes ?? null;
          assert.ok(
            killedByMemory({
              ...record,
              peak_rss: grown(record.peak_rss, by),
              peak_rss_swap: grown(record.peak_rss_swap, by),
              peak_process_vmem: grown(record.peak_process_vmem, by),
              h_vmem:
                record.h_vmem === null
                  ? null
                  : { ...record.h_vmem, limit_bytes: limit === null ? null : limit * share },
            }),
          );
        },
      ),
      { numRuns: 1000 },
    );
  });
});
