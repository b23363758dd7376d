import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobView } from '../../src/live/cluster-view';
import { hostNames } from '../../src/gridengine/host-names';
import { jobView } from '../../src/live/job-view';
import { recordsByPart } from '../../src/live/our-figures';
import { runningJobs } from '../../src/live/running-jobs';
import type { Snapshot } from '../../src/live/snapshot';
import type { JobRecord } from '../../src/record/record';
import {
  answer,
  AT,
  detail,
  GIB,
  hard,
  host,
  listed,
  MIB,
  pastUsage,
  peTask,
  row,
  running,
  snapshot,
  taskDetail,
  usage,
} from './snapshots';
import { USUAL_RULES } from '../../src/record/request-rules';
import { perOf } from '../../src/live/requests';

function view(changes: Partial<Snapshot>, records: readonly JobRecord[] = []): JobView {
  const given = snapshot(changes);
  const nameOf = hostNames([]);
  const [job] = runningJobs(given, nameOf);
  assert.ok(job);
  const recordsOf = recordsByPart(records, nameOf);
  const rules = USUAL_RULES;
  const context = {
    dialect: given.dialect,
    rules,
    perOf: perOf(rules, records),
    consumable: null,
    nowMs: AT,
    nameOf,
    recordsOf,
  };
  return jobView(job, context);
}

describe('jobView', () => {
  it('takes each fact from the answer that has it', () => {
    const full = view({
      running: answer([
        listed(1, 'long.q@a', { name: 'n', grantedPe: 'mpi', slots: 3, project: 'p', requests: [hard('1G')] }),
      ]),
      details: answer([detail(1, [taskDetail(usage(2, 1, 50))], { uid: '7' })]),
    });
    assert.deepEqual(
      [
        full.name,
        full.queue,
        full.pe,
        full.slots,
        full.project,
        full.uid,
        full.limit,
        full.vmem,
        full.maxvmem,
        full.cpuSeconds,
      ],
      ['n', 'long.q', 'mpi', 3, 'p', '7', 3 * GIB, GIB, 2 * GIB, 50],
    );
    const bare = view({ hosts: answer([host('a', { jobs: [row(1, { queue: 'x.q', state: 's' })] })]) });
    assert.deepEqual(
      [bare.name, bare.queue, bare.state, bare.slots, bare.limitState, bare.uid, bare.maxvmem, bare.submittedAt],
      ['job1', 'x.q', 's', 1, 'unknown', null, null, null],
    );
  });

  it('tells the two hours of the same local time apart when summer time ends', () => {
    const HOUR = 3_600_000;
    const times = (exact: number): unknown => {
      const { startedAt, submittedAt } = view({
        running: answer([listed(1, 'q@a', { startedAt: AT, submittedAt: AT })]),
        details: answer([detail(1, [taskDetail(usage(1), { startedAt: exact })], { submittedAt: exact })]),
      });
      return [startedAt, submittedAt];
    };
    assert.deepEqual(times(AT + HOUR), [AT + HOUR, AT + HOUR]);
    // qstat -j shows the run before this one.
    assert.deepEqual(times(AT - HOUR), [AT, AT]);
    assert.deepEqual(times(AT + HOUR + 1000), [AT, AT]);
  });

  it('adds ended slave tasks to the peak and to the CPU time, but not to the memory in use', () => {
    const job = view({
      running: answer([listed(1, 'q@a')]),
      details: answer([
        detail(1, [
          taskDetail(usage(1, 1, 10), { peTasks: [pastUsage(usage(2, 2, 20)), peTask('3.a', usage(4, 3, 40))] }),
        ]),
      ]),
    });
    assert.deepEqual([job.vmem, job.maxvmem, job.cpuSeconds], [4 * GIB, 7 * GIB, 70]);
  });

  it('keeps the figures of a job without a known host', () => {
    const job = view({ running: answer([listed(1, null)]), details: answer([detail(1, [taskDetail(usage(2))])]) });
    assert.deepEqual([job.parts, job.maxvmem], [[], 2 * GIB]);
  });

  it('takes CPU time from the list where qstat -j has none', () => {
    assert.equal(view({ running: answer([listed(1, 'q@a', { cpuSeconds: 9 })]) }).cpuSeconds, 9);
  });

  it('takes the trend of the host that reaches its limit first', () => {
    const began = new Date(AT - 30 * 60_000).toISOString();
    const growing = (where: string, each: number): JobRecord => {
      const rss_bytes = Array.from({ length: 30 }, (_, minute) => (minute + 1) * each);
      return running(1, where, [], { series: { start: began, step_seconds: 60, rss_bytes, others: {} } });
    };
    const changes = {
      hosts: answer([host('a', { jobs: [row(1)] }), host('b', { jobs: [row(1, { role: 'SLAVE' })] })]),
      running: answer([listed(1, 'q@a', { slots: 2, requests: [hard('1G')] })]),
    };
    const job = view(changes, [growing('a', MIB), growing('b', 8 * MIB)]);
    assert.equal(job.trend, job.parts[1]?.trend);
    assert.equal(job.trend?.limitAt, AT + (128 - 30) * 60_000);
    const free = { ...changes, running: answer([listed(1, 'q@a', { slots: 2 })]) };
    const unlimited = view(free, [growing('a', MIB), growing('b', 8 * MIB)]);
    assert.deepEqual([unlimited.trend?.slope, unlimited.trend?.limitAt], [(8 * MIB) / 60, null]);
  });
});
