import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { adviseRequest } from '../../../src/report/advice/advice';
import { renderJob } from '../../../src/report/job/job';
import { needsOf } from '../../../src/report/job/job-whole';
import { nextTime } from '../../../src/report/advice/next-time';
import { emptyRecord, type GridEngineAccount, type JobRecord } from '../../../src/record/record';
import { after, asRuns, openBracket, ordinary } from '../sample-records';
import { testScreen } from '../screens';
import { accountOf } from '../../support/records';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

const account = (maxvmem: number): GridEngineAccount =>
  accountOf({ wallclock_seconds: 5025, cpu_seconds: 100, maxvmem_bytes: maxvmem });

const small = openBracket(20 * MIB, after(10), 'mpirun');

/** A sampled master on n1, granted one slot of 1600 MiB on each of these hosts. */
function master(hosts: readonly string[], fields: Partial<JobRecord> = {}): JobRecord {
  return {
    ...ordinary,
    host: 'n1',
    pe: 'mpi',
    slots: hosts.length,
    host_slots: 1,
    granted_hosts: hosts.map((host) => ({ host, slots: 1 })),
    requests: {},
    h_vmem: { request_bytes: 1600 * MIB, limit_bytes: 1600 * MIB, per: 'slot' },
    peak_rss: small,
    peak_rss_swap: small,
    peak_process_vmem: small,
    peak_vmem: null,
    ...fields,
  };
}

/** A slave task known from Grid Engine's accounting only. */
function lineOfTask(host: string, counted: number, fields: Partial<JobRecord> = {}): JobRecord {
  const key = { ...master([host]), host, pe_task_id: `1.${host}`, run_id: `accounting.${host}` };
  return {
    ...emptyRecord(key, 'finished', 'accounting', Date.parse(after(5025))),
    owner: 'bob',
    slots: 1,
    started_at: after(5),
    ended_at: after(5000),
    exit_status: 0,
    failed: 0,
    h_vmem: master([host]).h_vmem,
    grid_engine: account(counted),
    ...fields,
  };
}

const shown = (records: readonly JobRecord[]): string =>
  renderJob(
    { job_id: 4711, runs: asRuns(records), older: 0, newer: 0 },
    { detail: 'full', allTasks: false, dialect: 'sge8.1.9' },
    testScreen(),
  ).join('\n');

describe('the advice for a tightly integrated job', () => {
  it('lowers nothing while a task was not sampled, whether on another host or on the same', () => {
    for (const hosts of [['n1', 'n2'], ['n1']]) {
      const host = hosts.at(-1) ?? 'n1';
      const records = [master(hosts), lineOfTask(host, 125e6)];
      assert.notEqual(adviseRequest(needsOf(records))?.kind, 'lower');
      const text = shown(records);
      assert.doesNotMatch(text, /times the memory|Next time/);
      assert.match(text, /(1 of 2 hosts|1 task) was not sampled: what the job needs is unknown\./);
    }
  });

  it('says of an array of such jobs that not all of it was sampled', () => {
    const records = [1, 2].flatMap((task_id) =>
      [master(['n1', 'n2']), lineOfTask('n2', 125e6)].map((record) => ({ ...record, task_id })),
    );
    assert.match(shown(records), /Not all of its hosts and tasks were sampled: what it needs is unknown/);
    assert.doesNotMatch(shown(records), /The request fits|times the memory|Next time/);
  });

  it('lowers nothing where only the clients of its tasks were sampled', () => {
    const clients = { ...master(['n1']), peak_rss: openBracket(20 * MIB, after(700), 'qrsh (qsh)') };
    assert.equal(nextTime(needsOf([clients])), null);
    assert.match(shown([clients]), /Not all of its hosts and tasks were sampled: what it needs is unknown/);
    const task = { ...master(['n1']), pe_task_id: '1.n1', granted_hosts: null, run_id: '1.2.3' };
    assert.doesNotMatch(shown([clients, task]), /Not all of its hosts and tasks were sampled/);
    assert.equal(adviseRequest([clients, task])?.kind, adviseRequest([master(['n1']), task])?.kind);
  });

  it('lowers nothing while a granted host has no record', () => {
    assert.equal(adviseRequest(needsOf([master(['n1', 'n2'])]))?.kind, 'keep');
    assert.equal(nextTime(needsOf([master(['n1', 'n2'])])), null);
  });

  it('asks for more where Grid Engine counted nearly the limit in one task', () => {
    const records = [master(['n1', 'n2']), lineOfTask('n2', 1550 * MIB)];
    const advice = adviseRequest(needsOf(records));
    assert.deepEqual([advice?.kind, advice?.request, advice?.counted], ['raise', 'h_vmem=1.9G', true]);
    const text = shown(records);
    assert.match(text, /Next time: qsub -l h_vmem=1\.9G\n +what Grid Engine counted \(1\.51 GiB\) and 20 % headroom/);
    assert.match(text, /By Grid Engine's figure it came close to its limit\./);
  });

  it('adds up the figures of tasks that ran at the same time on a host, not of consecutive ones', () => {
    const at = (from: number, to: number, number: number): JobRecord =>
      lineOfTask('n1', 790 * MIB, {
        pe_task_id: `${number}.n1`,
        run_id: `accounting.${number}`,
        started_at: after(from),
        ended_at: after(to),
        revision: Date.parse(after(to)),
      });
    const advised = (records: readonly JobRecord[]): string | undefined =>
      adviseRequest(needsOf([master(['n1']), ...records]))?.request;
    assert.equal(advised([at(5, 4000, 1), at(10, 5000, 2)]), 'h_vmem=1.9G');
    assert.equal(advised([at(5, 1000, 1), at(2000, 5000, 2)]), 'h_vmem=950M');
  });

  it('never asks for less than any source measured in any task or on any host', () => {
    const bytes = fc.integer({ min: 30 * MIB, max: 3 * GIB });
    fc.assert(
      fc.property(fc.array(bytes, { minLength: 1, maxLength: 4 }), bytes, fc.boolean(), (counts, peak, sampled) => {
        const hosts = ['n1', ...counts.map((_, index) => `m${index}`)];
        const bracket = openBracket(peak, after(20), 'solver');
        const tasks = counts.map((counted, index) => {
          const host = `m${index}`;
          const line = lineOfTask(host, counted);
          return sampled
            ? { ...line, peak_rss: bracket, peak_rss_swap: bracket, peak_process_vmem: bracket, samples: 9 }
            : line;
        });
        const needed = Math.max(...counts, sampled ? peak : 0);
        const advice = adviseRequest(needsOf([master(hosts), ...tasks]));
        if (advice === null || advice.kind === 'keep') return;
        assert.ok(advice.totalBytes / advice.slots >= needed, `${advice.request} for ${needed}`);
        if (!sampled) assert.notEqual(advice.kind, 'lower');
      }),
    );
  });

  it('lowers nothing where Grid Engine counted exactly what was reserved', () => {
    const reserved = lineOfTask('n2', 1600 * MIB, { h_vmem: null });
    assert.equal(adviseRequest(needsOf([master(['n1', 'n2']), reserved]))?.kind, 'keep');
    const summed = master(['n1', 'n2', 'n3'], { grid_engine: account(3 * 1600 * MIB) });
    assert.equal(adviseRequest(needsOf([summed]))?.kind, 'keep');
  });

  it('takes the mean of an accounting line for all hosts as the lower bound of one host', () => {
    const tasks = ['n2', 'n3', 'n4'].map((host) => ({
      ...master([host]),
      host,
      granted_hosts: null,
      pe_task_id: `1.${host}`,
      run_id: `1f2e3d4c.${host}`,
    }));
    const summed = master(['n1', 'n2', 'n3', 'n4'], { grid_engine: account(4 * 390 * MIB) });
    const advice = adviseRequest(needsOf([summed, ...tasks]));
    assert.deepEqual([advice?.kind, advice?.request, advice?.need.bytes], ['lower', 'h_vmem=500M', 390 * MIB]);
  });
});
