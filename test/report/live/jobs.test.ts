import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { displayWidth } from '../../../src/report/screen/text-width';
import { renderJobs, type JobsReport } from '../../../src/report/live/jobs';
import type { JobView } from '../../../src/live/cluster-view';
import { RUNNING_JOB } from '../../../src/report/live/machine-jobs';
import { assertGolden } from '../golden';
import { GIB, MIB } from '../../live/snapshots';
import { oneOf } from '../../tries';
import { liveScreen, manyJobs, NOW, oneJob, sampleView, trendIn } from './sample-view';
import { cpuMs } from '../../support/cpu-time';

process.env.TZ = 'Europe/Berlin';

const view = sampleView();
const report: JobsReport = { view, jobs: view.jobs, pending: view.pending };
const reportOf = (jobs: JobsReport['jobs']): JobsReport => ({ view: { ...view, jobs }, jobs, pending: null });

describe('renderJobs', () => {
  it('shows running and waiting jobs', () => assertGolden('live', renderJobs(report, liveScreen())));
  it('fits a narrow screen', () => assertGolden('live-narrow', renderJobs(report, liveScreen({ width: 60 }))));
  it('fits a wide screen', () => assertGolden('live-wide', renderJobs(report, liveScreen({ width: 160 }))));
  it('shows jobs in colour', () => assertGolden('live-colour', renderJobs(report, liveScreen({ colour: true }))));
  it('shows jobs in ASCII', () => assertGolden('live-ascii', renderJobs(report, liveScreen({ unicode: false }))));

  it('keeps to its width, and prints no control character', () => {
    for (const width of [60, 70, 80, 100, 120, 160, 200])
      for (const unicode of [true, false])
        for (const line of renderJobs(report, liveScreen({ width, unicode }))) {
          assert.ok(displayWidth(line) <= width, `${width}: ${line}`);
          assert.doesNotMatch(line, unicode ? /\p{C}/u : /[^ -~]/);
        }
  });

  it('says how many of the running jobs are shown', () => {
    const [head] = renderJobs({ ...report, jobs: view.jobs.slice(0, 2), pending: null }, liveScreen());
    assert.match(head ?? '', /^2 of 12 running in cluster default +13:00:00, 3 s old$/);
    assert.ok(renderJobs({ ...report, jobs: [] }, liveScreen()).includes('No running job matches.'));
  });

  it('says how long a job with a time limit may still run', () => {
    const jobs = [
      oneJob(1, { timeLimit: 7200, startedAt: NOW.getTime() - 3_600_000 }),
      oneJob(2, { timeLimit: 60, startedAt: NOW.getTime() - 3_600_000 }),
      oneJob(3, { startedAt: NOW.getTime() - 3_600_000 }),
    ];
    const lefts = renderJobs(reportOf(jobs), liveScreen({ width: 160 }))
      .filter((line) => /^\d +alice/.test(line))
      .map((line) => line.trimEnd().split(/ {2,}/).at(-1));
    assert.deepEqual(lefts, ['1:00:00', '0', '–']);
  });

  it('says when a job will reach its limit, with "?" where that is a guess', () => {
    const jobs = [
      oneJob(1, { trend: trendIn(30) }),
      oneJob(2, { trend: trendIn(120, { confidence: 'low' }) }),
      oneJob(3, { trend: trendIn(24 * 60) }),
      oneJob(4, { trend: trendIn(-1) }),
      oneJob(5, { trend: trendIn(40 * 24 * 60) }),
      oneJob(6, { trend: { ...trendIn(0), limitAt: null } }),
    ];
    const ends = renderJobs(reportOf(jobs), liveScreen({ width: 80 }))
      .filter((line) => /^\d +alice/.test(line))
      .map((line) => [Number(line[0]), line.split(/ {2,}/).at(-1)]);
    assert.deepEqual(ends, [
      [1, '13:30'],
      [2, '15:00?'],
      [3, '11-21 13:00'],
      [4, 'now'],
      [5, '–'],
      [6, '–'],
    ]);
  });

  it('explains what the figures of each dialect add up', () => {
    const foot = (measure: 'cgroup' | 'vmem_sum' | null): string =>
      renderJobs(reportOf([oneJob(1, { measure })]), liveScreen({ width: 200 })).join('\n');
    assert.match(foot('cgroup'), /memory charged to the job's cgroup, page cache included/);
    assert.match(foot('vmem_sum'), /at most: address space \(more than is resident\)\./);
    assert.match(foot(null), /what they add up is not known/);
  });

  it('shows the same bound of a peak on every width, and "≥" without an upper bound', () => {
    const ours = { rss: GIB, lower: GIB, upper: 1.5 * GIB, at: NOW.getTime() - 125_000 };
    const lines = (width: number): string =>
      renderJobs(
        reportOf([oneJob(1, { ours }), oneJob(2, { ours: { ...ours, upper: null } })]),
        liveScreen({ width }),
      ).join('\n');
    assert.match(lines(160), / 1\.00 GiB +1\.00 GiB +2 min/);
    assert.match(lines(160), /≥ 1\.00 GiB +2 min/);
    assert.match(lines(100), / 1\.00 GiB +1\.00 GiB +2 min +25 %/);
  });

  it('compares a job on several hosts by its fullest host and the limit there', () => {
    const ours = { rss: 157 * MIB, lower: 157 * MIB, upper: 170 * MIB, at: NOW.getTime() - 3000 };
    const bare = { masterMaxvmem: null, masterVmem: null, limit: GIB, alone: false };
    const one = oneJob(1, { vmem: null, maxvmem: null, limit: 2 * GIB, slots: 2 }, { ...bare, ours });
    const both = { ...ours, rss: 314 * MIB, upper: 340 * MIB };
    const job = {
      ...one,
      ours: both,
      parts: [...one.parts, ...one.parts.map((part) => ({ ...part, host: 'node02' }))],
    };
    assert.equal(RUNNING_JOB.fields(job).share, 157 / 1024);
    const text = renderJobs(reportOf([job]), liveScreen({ width: 120 })).join('\n');
    assert.match(text, / 2 GiB +314 MiB +157 MiB .* 15 % /);
    assert.match(text, /Of a job on several hosts, peak and of limit are of the fullest one/);
    assert.doesNotMatch(renderJobs(reportOf([one]), liveScreen({ width: 120 })).join('\n'), /several hosts/);
  });

  it('shows states, soft requests, missing limits, and slots per host', () => {
    const jobs = [
      oneJob(1, { state: 'Eqw', limit: null, limitState: 'unlimited', requests: [] }),
      oneJob(2, { requests: [{ complex: 'h_vmem', kind: 'soft', text: '4G', bytes: 4 * GIB }], project: 'p1' }),
      oneJob(3, { slots: 8, limit: 32 * GIB, maxvmem: null, vmem: null, startedAt: null }),
    ];
    const text = renderJobs(reportOf(jobs), liveScreen({ width: 200 })).join('\n');
    assert.match(text, /Eqw.*no limit/);
    assert.match(text, /4G soft/);
    assert.match(text, /4G ×8 +32 GiB/);
    assert.match(text, / p1 /);
    const [one] = jobs;
    const host = (name: string): JobView['parts'] => one?.parts.map((part) => ({ ...part, host: name })) ?? [];
    const byHost = { ...oneJob(4, { slots: 8, limit: 8 * GIB }), parts: [...host('a'), ...host('b')] };
    assert.match(renderJobs(reportOf([byHost]), liveScreen({ width: 200 })).join('\n'), /4G ×2 +8 GiB/);
  });

  it('does not show 0 waiting jobs where Grid Engine has not answered', () => {
    const times = { ...sampleView().times, pending: null };
    const text = renderJobs({ view: sampleView({ times }), jobs: [], pending: [] }, liveScreen()).join('\n');
    assert.match(text, /Waiting: not known/);
  });

  it('renders ten thousand jobs in less than 5 s of CPU time', () => {
    const jobs = manyJobs(10_000);
    return oneOf(3, () => {
      const start = cpuMs();
      const lines = renderJobs(reportOf(jobs), liveScreen({ width: 160, colour: true }));
      assert.ok(lines.length > 10_000);
      assert.ok(cpuMs() - start < 5000, `${cpuMs() - start} ms`);
    });
  });
});
