import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderJob } from '../../../src/report/job/job';
import type { JobRun, JobViewOptions } from '../../../src/report/job/job-run';
import { renderRun } from '../../../src/report/job/run';
import type { JobRecord } from '../../../src/record/record';
import { after, asRuns, mpiMaster, mpiTask } from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

const screen = testScreen();
const WITHOUT_TASKS: JobViewOptions = { detail: 'full', allTasks: false };
const four: readonly JobRecord[] = [mpiMaster(4), mpiTask(1), mpiTask(2), mpiTask(2, 2), mpiTask(3), mpiTask(4)];
const shown = (runs: readonly JobRun[], options = WITHOUT_TASKS): string => renderRun(runs, options, screen).join('\n');

describe('renderRun of a parallel job', () => {
  it('lists the slave tasks when asked', () => {
    assert.doesNotMatch(shown(asRuns(four)), /2\.node02/);
    const all = shown(asRuns(four), { detail: 'full', allTasks: true });
    assert.match(all, /^Tasks +host +pe task/m);
    for (const task of ['master', '1.node01', '1.node02', '2.node02', '1.node03', '1.node04'])
      assert.match(all, new RegExp(`node0\\d +${task} `));
  });

  it('says that it was sampled in part where the slave hosts were not', () => {
    const unsampled = { ...mpiTask(2), trust: 'accounting', status: 'unsampled', samples: null } as const;
    const runs = asRuns([mpiMaster(2), unsampled]);
    assert.match(
      renderJob({ job_id: 4800, runs, newer: 0, older: 0 }, { allTasks: false }, screen).join('\n'),
      /Data quality: sampled in part, [\d,]+ samples/,
    );
    assert.match(shown(runs), /measured in part, by root's sampler: [\d,]+ samples/);
  });

  it('lists earlier runs by their masters, and adds nothing of them to the last run', () => {
    const earlier = four.map((record) => ({
      ...record,
      run_id: `${record.run_id}0`,
      started_at: after(-9000),
      ended_at: after(-8000),
    }));
    const text = shown([...asRuns(earlier, 1), ...asRuns(four, 2)]);
    const runs = text.slice(text.indexOf('\nRuns'));
    assert.equal(runs.match(/^ +[12] +2026/gm)?.length ?? 0, 2);
    const without = shown(asRuns(four, 2)).replace(/^ +queue wait .*\n/m, '');
    assert.equal(text.slice(0, text.indexOf('\nRuns')).trimEnd(), without.trimEnd());
  });

  it('lists a run without a master record by its slave tasks, also if the last run was on one host', () => {
    const lost = four.filter(({ pe_task_id: task }) => task !== null);
    const alone = { ...mpiMaster(1), granted_hosts: null };
    const text = shown([...asRuns(four, 1), ...asRuns(lost, 2), ...asRuns([alone], 3)]);
    const runs = text.slice(text.indexOf('\nRuns')).matchAll(/^ +([123]) +2026.* (master|\d\.node\d+) /gm);
    assert.deepEqual(
      [...runs].map(([, run, task]) => `${run ?? ''} ${task ?? ''}`),
      ['1 master', '2 1.node01', '2 1.node02', '2 2.node02', '2 1.node03', '2 1.node04', '3 master'],
    );
  });

  it('says how old the figures of a running job are, and when memory reaches the limit', () => {
    const now = screen.now.getTime();
    const beating = (record: JobRecord, seconds: number): JobRecord => ({
      ...record,
      status: 'running',
      ended_at: null,
      exit_status: null,
      signal: null,
      revision: now - seconds * 1000,
      wallclock_seconds: 700,
      series: {
        start: after(0),
        step_seconds: 6,
        others: {},
        rss_bytes: Array.from({ length: 118 }, (_, index) => (record.pe_task_id === null ? 1e6 : 2e8 * (index + 1))),
      },
    });
    const fresh = shown(asRuns(four.map((record, index) => beating(record, 30 + index))));
    assert.match(fresh, /running, 35 s ago$/m);
    assert.match(fresh, /these are the figures of 35 s ago/);
    assert.doesNotMatch(fresh, /Next time|is unknown/);
    const one = beating(mpiTask(1), 5);
    const growing = shown(asRuns([beating(mpiMaster(2), 5), one, beating(mpiTask(2), 5)]));
    assert.match(growing, /At this rate it reaches its limit on node0[12] at 14:1\d/);
    const silent = shown(asRuns(four.map((record) => beating(record, 3 * 3600))));
    assert.match(silent, /no heartbeat since 2026-11-20 11:14:14$/m);
    assert.match(silent, /at its last heartbeat, 3:00:00 ago: since then/);
    assert.doesNotMatch(silent, /At this rate/);
  });

  it('explains why a job on several hosts was killed by the host on which it was', () => {
    const limit = 32 * 2 ** 30;
    const peak = { ...mpiTask(3).peak_rss, lower_bytes: limit - 1e8, upper_bytes: limit } as JobRecord['peak_rss'];
    const killed = { ...mpiTask(3), exit_status: 137, signal: 9, peak_rss: peak, peak_rss_swap: peak };
    const text = shown(asRuns([{ ...mpiMaster(4), exit_status: 1 }, mpiTask(1), killed]));
    assert.match(text, /Memory .* 31\.9 GiB of 32 GiB on node03 +99\.7 %/);
    assert.match(text, /Possible cause: Grid Engine's own kill at h_vmem/);
    assert.match(text, /Next time: qsub -l h_vmem=3G/);
  });

  it('counts each task of a parallel array job with all its hosts', () => {
    const tasks = [1, 2].flatMap((task_id) => four.map((record) => ({ ...record, task_id })));
    const report = { job_id: 4800, runs: asRuns(tasks), older: 0, newer: 0 };
    const lines = renderJob(report, WITHOUT_TASKS, screen);
    assert.match(lines.join('\n'), /CPU time +\d+d \d+h/);
    assert.match(lines[0] ?? '', /2 tasks/);
    assert.match(lines.join('\n'), /Memory .* 5\.03 GiB of 32 GiB on node04 +16 %/);
    assert.match(lines.join('\n'), /= 128 GiB on 4 hosts/);
  });
});
