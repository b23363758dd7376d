import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobRecord } from '../../../src/record/record';
import { renderJob } from '../../../src/report/job/job';
import type { JobRun, JobViewOptions } from '../../../src/report/job/job-run';
import { renderCsv } from '../../../src/report/records/csv';
import { withClasses } from '../../../src/report/rules/judge';
import { renderRules } from '../../../src/report/rules/rule-list';
import { loadRules } from '../../../src/report/rules/rule-set';
import { assertGolden } from '../golden';
import { after, arrayOfTwenty, asRuns, hostile, mpiMaster, mpiTask, ordinary } from '../sample-records';
import { testScreen } from '../screens';

const PEAK = 1_644_167_168;

/** A job that uses one of four slots and grows all the time. */
const leaking: JobRecord = {
  ...ordinary,
  job_id: 4790,
  job_name: 'collect',
  cpu_seconds: 4900,
  series: {
    start: after(0),
    step_seconds: 42,
    others: {},
    rss_bytes: Array.from({ length: 120 }, (_, index) => Math.round((PEAK * (index + 5)) / 125)),
  },
};

async function shown(runs: readonly JobRun[], options: Partial<JobViewOptions> = {}, ascii = false): Promise<string[]> {
  const judges = { rules: await loadRules(''), kindOf: () => null };
  const report = { job_id: runs[0]?.record.job_id ?? 0, runs, older: 0, newer: 0, judges };
  return renderJob(report, { allTasks: false, ...options }, testScreen(ascii ? { unicode: false, width: 80 } : {}));
}

describe('classes on the screen of a job', () => {
  it('shows the worst class on a screen of 24 lines, and names the others', async () => {
    const lines = await shown(asRuns([leaking]));
    assert.ok(lines.length <= 24);
    assertGolden('class-short', lines);
  });

  it('shows all classes with --full, also those that could not be judged', async () => {
    assertGolden('class-full', await shown(asRuns([leaking]), { detail: 'full' }, true));
  });

  it('does not repeat what the verdict says', async () => {
    const runs = asRuns([ordinary]);
    const lines = await shown(runs);
    const without = renderJob({ job_id: 4711, runs, older: 0, newer: 0 }, { allTasks: false }, testScreen());
    assert.deepEqual(lines, without);
  });

  it('judges all hosts of a parallel job together', async () => {
    const idle = [mpiMaster(2), mpiTask(1), mpiTask(2)].map((record) => ({ ...record, cpu_seconds: 100 }));
    assertGolden('class-parallel', await shown(asRuns(idle)));
  });

  it('counts the tasks of an array', async () => {
    const serial = arrayOfTwenty.map((record) => ({ ...record, host_slots: 4, cpu_seconds: record.wallclock_seconds }));
    const lines = await shown(asRuns(serial), { detail: 'full' });
    assert.match(
      lines.join('\n'),
      /^Classes {3}serial: \d+ tasks; task \d+: used one slot of 4 \(1 busy on average\)$/m,
    );
  });

  it('prints no control character of hostile names', async () => {
    const rule = await loadRules('');
    const judged = withClasses(asRuns([{ ...hostile, host_slots: 4, slots: 4, cpu_seconds: 0 }]), rule);
    const report = { job_id: hostile.job_id, runs: judged, older: 0, newer: 0 };
    const text = renderJob(report, { allTasks: false, detail: 'full' }, testScreen()).join('');
    assert.doesNotMatch(text, /[\p{Cc}\u202e]/u);
  });

  it('names the classes in CSV', async () => {
    const judged = withClasses(asRuns([leaking]), await loadRules(''));
    const [, line = ''] = renderCsv(judged.map((run) => ({ ...run, next_time: null }))).split('\n');
    assert.match(line, /,leak serial memory-far-below$/);
  });
});

describe('the list of rules', () => {
  it('shows everything that a rule defines', async () => {
    assertGolden('rules', renderRules(await loadRules(''), testScreen()));
  });
});
