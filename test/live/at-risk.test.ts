import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jobsAtRisk, jobsToWarnOf, shareInUse, type AtRisk } from '../../src/live/at-risk';
import type { ClusterView } from '../../src/live/cluster-view';
import { viewCluster } from '../../src/live/view';
import type { Snapshot } from '../../src/live/snapshot';
import { anyRecords, anySnapshot } from './arbitrary-snapshot';
import { answer, AT, detail, GIB, hard, listed, MIB, peTask, running, snapshot, taskDetail, usage } from './snapshots';
import { USUAL_RULES } from '../../src/record/request-rules';

const HOUR = 3_600_000;
const options = { withinMs: HOUR, nowMs: AT, share: 0.9 };
const viewOf = (given: Snapshot, records: Parameters<typeof viewCluster>[1] = []): ClusterView =>
  viewCluster(given, records, { rules: USUAL_RULES, nowMs: AT });

/** Jobs with limits of 4 GiB that use so many GiB now; their peak is 8 GiB. */
function using(...vmem: readonly number[]): Snapshot {
  return snapshot({
    running: answer(vmem.map((_, index) => listed(index + 1, 'q@a', { requests: [hard('4G')] }))),
    details: answer(vmem.map((gib, index) => detail(index + 1, [taskDetail(usage(8, gib))]))),
  });
}

const brief = (risks: readonly AtRisk[]): unknown => risks.map(({ job, reason, share }) => [job.job, reason, share]);

/** Memory per minute of a job that started an hour ago at 0 and grows by `each` bytes a minute. */
const growth = (each: number): readonly number[] => Array.from({ length: 60 }, (_, minute) => (minute + 1) * each);

describe('jobsAtRisk', () => {
  it('finds jobs that use most of their limit now, whatever their peaks', () => {
    assert.deepEqual(brief(jobsAtRisk(viewOf(using(3.5, 3.7, 1, 5)), options)), [
      [4, 'full', 1.25],
      [2, 'full', 0.925],
    ]);
  });

  it('finds jobs that grow into their limit within the given time', () => {
    const records = [
      running(1, 'a', growth(50 * MIB)),
      running(2, 'a', growth(40 * MIB)),
      running(3, 'a', growth(10 * MIB)),
    ];
    const risks = jobsAtRisk(viewOf(using(1, 1, 1), records), options);
    assert.deepEqual(
      risks.map(({ job, reason, trend }) => [job.job, reason, trend?.limitAt]),
      [
        [1, 'trend', AT - HOUR + (4096 / 50) * 60_000],
        [2, 'trend', AT - HOUR + (4096 / 40) * 60_000],
      ],
    );
    assert.equal(jobsAtRisk(viewOf(using(1, 1, 1), records), { ...options, withinMs: 60_000 }).length, 0);
  });

  it('puts full jobs first, and lists each job once', () => {
    const records = [running(1, 'a', growth(50 * MIB)), running(2, 'a', growth(64 * MIB))];
    assert.deepEqual(brief(jobsAtRisk(viewOf(using(1, 1), records), options)), [
      [2, 'full', 0.9375],
      [1, 'trend', (3000 * MIB) / (4 * GIB)],
    ]);
  });

  it('looks at each host of a parallel job by itself', () => {
    const given = snapshot({
      running: answer([listed(1, 'q@a', { slots: 2, requests: [hard('4G')] })]),
      details: answer([detail(1, [taskDetail(usage(0.5), { peTasks: [peTask('1.b', usage(3.9))] })])]),
    });
    const [risk] = jobsAtRisk(viewOf(given), options);
    assert.deepEqual([risk?.part.host, risk?.share], ['b', 0.975]);
  });

  it('finds no job without a limit', () => {
    const given = using(100);
    const free = { ...given, running: answer([listed(1, 'q@a')]) };
    assert.deepEqual(jobsAtRisk(viewOf(free, [running(1, 'a', growth(GIB))]), options), []);
  });

  it('returns only parts with a limit, for any view', () => {
    fc.assert(
      fc.property(anySnapshot, anyRecords, (given, records) => {
        const view = viewOf(given, records);
        const risks = jobsAtRisk(view, options);
        assert.ok(risks.length <= view.jobs.length);
        for (const { part } of risks) assert.notEqual(part.limit, null);
      }),
    );
  });
});

describe('jobsToWarnOf', () => {
  it("counts a trend that reaches the limit within a quarter of the job's run time", () => {
    const records = [running(1, 'a', growth(57 * MIB)), running(2, 'a', growth(53 * MIB))];
    const view = viewOf(using(1, 1), records);
    assert.equal(jobsAtRisk(view, options).length, 2);
    assert.deepEqual(brief(jobsToWarnOf(view, AT)), [[1, 'trend', (57 * 60) / 4096]]);
  });

  it('finds jobs near their limit, however long they have run', () => {
    assert.deepEqual(brief(jobsToWarnOf(viewOf(using(3.7, 1)), AT)), [[1, 'full', 0.925]]);
  });

  it('finds no job whose memory is only reserved', () => {
    const given = { ...using(3.7), running: answer([listed(1, 'q@a', { requests: [hard('4G', 'mem_free')] })]) };
    assert.equal(jobsAtRisk(viewOf(given), options).length, 1);
    assert.deepEqual(jobsToWarnOf(viewOf(given), AT), []);
    // An address space says nothing about reserved memory.
    assert.deepEqual(jobsAtRisk(viewOf({ ...given, dialect: 'sge6.2' }), options), []);
    assert.equal(jobsAtRisk(viewOf({ ...using(3.7), dialect: 'sge6.2' }), options).length, 1);
  });
});

describe('shareInUse', () => {
  it("takes the larger of two figures, but the sampler's where Grid Engine's includes the page cache", () => {
    const [job] = viewOf(using(2), [running(1, 'a', [3 * GIB])]).jobs;
    assert.ok(job);
    const [part] = job.parts;
    assert.ok(part);
    assert.equal(shareInUse(job, part), 0.75);
    const cached = { ...part, masterVmem: 4 * GIB };
    assert.equal(shareInUse(job, cached), 1);
    assert.equal(shareInUse(job, { ...cached, measure: 'cgroup' }), 0.75);
    assert.equal(shareInUse(job, { ...cached, measure: 'cgroup', ours: null }), 1);
    assert.equal(shareInUse(job, { ...part, measure: null, ours: null, masterVmem: null }), null);
  });
});
