import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobRecord } from '../../../src/record/record';
import { renderReportHtml } from '../../../src/report/efficiency/html/page';
import { judgeRuns } from '../../../src/report/efficiency/judge-runs';
import { renderReport } from '../../../src/report/efficiency/text';
import { displayWidth } from '../../../src/report/screen/text-width';
import { loadRules } from '../../../src/report/rules/rule-set';
import { after, mpiMaster, mpiTask, ordinary, unsampled } from '../sample-records';
import { testScreen } from '../screens';
import { sampleReport } from './sample-report';

const NIGHT = { since: new Date(after(-3600)), until: new Date(after(86_400)) };

const job = (id: number, changes: Partial<JobRecord>): JobRecord => ({
  ...ordinary,
  job_id: id,
  run_id: `a.${id}.1`,
  cpu_seconds: 20_000,
  ...changes,
});

const leak: JobRecord['series'] = {
  start: after(0),
  step_seconds: 42,
  others: {},
  rss_bytes: Array.from({ length: 120 }, (_, index) => 1e7 * (index + 5)),
};

const RECORDS: readonly JobRecord[] = [
  job(4801, { cpu_seconds: 5000 }),
  job(4802, { cpu_seconds: 5000, wallclock_seconds: 6000, owner: 'eve' }),
  job(4803, { series: leak }),
  ...[mpiMaster(2), mpiTask(1), mpiTask(2)].map((record) => ({ ...record, cpu_seconds: 0 })),
];

describe('the classes of a report', () => {
  it('read memory over time only of jobs that were sampled', async () => {
    const rules = await loadRules('');
    const { leftOut } = await judgeRuns([], [{ ...ordinary, series: null }, unsampled], rules, 0);
    assert.equal(leftOut, 1);
  });

  it('are counted by run, with their total cost and the costliest run', async () => {
    const rules = await loadRules('');
    const { classes } = await sampleReport({ ...NIGHT, rules }, RECORDS);
    assert.ok(classes !== null);
    const { rules_version: version, runs, complete, lines } = classes;
    assert.deepEqual([version, runs, complete], [rules.version, 4, true]);
    assert.deepEqual(
      lines.map((line) => [line.class, line.runs, line.owners, line.worst.job_id]),
      [
        ['leak', 1, 1, 4803],
        ['memory-far-below', 4, 2, 4800],
        ['serial', 2, 2, 4802],
        ['idle-cores', 1, 1, 4800],
      ],
    );
    const serial = lines.find((line) => line.class === 'serial');
    assert.equal(serial?.cost_slot_hours?.toFixed(3), ((4 * 5025 - 5000 + 4 * 6000 - 5000) / 3600).toFixed(3));
    assert.equal(serial.worst.evidence, 'used one slot of 4 (0.833 busy on average)');
  });

  it('leave out jobs that only their owner reported', async () => {
    const claimed = job(4805, { cpu_seconds: 5000, trust: 'self-reported' });
    const rules = await loadRules('');
    const { classes } = await sampleReport({ ...NIGHT, rules }, [...RECORDS, claimed]);
    assert.equal(classes?.runs, 4);
    assert.equal(classes.lines.find((line) => line.class === 'serial')?.runs, 2);
  });

  it('are listed in the text and the page, with the number of runs judged', async () => {
    const report = await sampleReport({ ...NIGHT, rules: await loadRules('') }, RECORDS);
    const text = renderReport(report, testScreen()).join('\n');
    assert.match(text, /^Classes\n/m);
    assert.match(text, /^ {2}serial +2 +2 +9\.4\d slot·h {2}4802 of eve: used one slot of 4/m);
    assert.match(text, /Of 4 runs\. "qmemacct jobs --class NAME" lists them\./);
    assert.match(renderReportHtml(report), />serial</);
  });

  it('print the units of their evidence in ASCII on an ASCII screen', async () => {
    const report = await sampleReport({ ...NIGHT, rules: await loadRules('') }, RECORDS);
    assert.ok(report.classes !== null);
    const lines = report.classes.lines.map((line) => ({
      ...line,
      worst: { ...line.worst, evidence: '3 GiB·h of \u202e' },
    }));
    const text = renderReport({ ...report, classes: { ...report.classes, lines } }, testScreen({ unicode: false }));
    assert.match(text.join('\n'), / of eve: 3 GiB-h of \\u202e/);
  });

  it('keep to the narrowest screen, whatever they cost', async () => {
    const report = await sampleReport({ ...NIGHT, rules: await loadRules('') }, RECORDS);
    assert.ok(report.classes !== null);
    const costly = { class: 'memory-far-below', runs: 1000, cost_slot_hours: 1e5 };
    const lines = report.classes.lines.map((line) => ({ ...line, ...costly }));
    const text = renderReport({ ...report, classes: { ...report.classes, lines } }, testScreen({ width: 60 }));
    assert.match(text.join('\n'), /memory-far-below +1,000 /);
    assert.deepEqual(
      text.filter((line) => displayWidth(line) > 60),
      [],
    );
  });

  it('are left out when the report is made without rules', async () => {
    const report = await sampleReport(NIGHT, RECORDS);
    assert.equal(report.classes, null);
    assert.doesNotMatch(renderReport(report, testScreen()).join('\n'), /^Classes$/m);
  });
});
