import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sumOfJob } from '../../../src/accounting/job-sum';
import { memoryEnd } from '../../../src/record/cause';
import { figuresOfPart } from '../../../src/live/our-figures';
import { raiseReason } from '../../../src/report/job/headline';
import { renderJob } from '../../../src/report/job/job';
import { RECORD_COLUMNS } from '../../../src/report/records/columns';
import { RUN_COLUMNS } from '../../../src/report/job/run-table';
import { renderReport } from '../../../src/report/efficiency/text';
import type { Bracket, GrantedSlots, JobRecord } from '../../../src/record/record';
import { sampleReport } from '../efficiency/sample-report';
import { NIGHT } from '../efficiency/sample-cluster';
import { after, asRuns, ordinary } from '../sample-records';
import { testScreen } from '../screens';
import { bracketOf } from '../../support/records';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

const screen = testScreen();

/** A peak proved by the kernel; with `limit` among the sources, the upper bound is only the limit. */
function peak(lower: number, upper: number, ...sources: readonly Bracket['sources'][number][]): Bracket {
  return bracketOf(lower, upper, {
    ...{ exact: false, sources: ['mark', 'exit-record', ...sources], at: after(10), command: 'sim' },
  });
}

function job(limit: number, peaks: Partial<JobRecord>, fields: Partial<JobRecord> = {}): JobRecord {
  const rss = peaks.peak_rss ?? null;
  return {
    ...ordinary,
    pe: null,
    slots: 1,
    host_slots: 1,
    requests: {},
    h_vmem: { request_bytes: limit, limit_bytes: limit, per: 'slot' },
    peak_vmem: null,
    ...peaks,
    peak_rss_swap: peaks.peak_rss_swap ?? rss,
    ...fields,
  };
}

const shown = (records: readonly JobRecord[]): string =>
  renderJob(
    { job_id: 4711, runs: asRuns(records), older: 0, newer: 0 },
    { detail: 'full', allTasks: false, dialect: 'unknown' },
    screen,
  )
    .map((line) => `${line.trimEnd()}\n`)
    .join('');

const inPeriod = (record: JobRecord): JobRecord => ({
  ...record,
  started_at: new Date(NIGHT.since.getTime() + 3_600_000).toISOString(),
  ended_at: new Date(NIGHT.since.getTime() + 7_200_000).toISOString(),
  wallclock_seconds: 3600,
});

/** `sleep 1` started by a shell with exec: only the limit bounds the shell's address space. */
const sleeper = job(200 * MIB, {
  peak_rss: peak(1.5 * MIB, 200 * MIB, 'limit'),
  peak_process_vmem: peak(4.26 * MIB, 200 * MIB, 'limit'),
});

/** 608 MiB of 2 GiB, started by a wrapper with exec. */
const wrapped = job(2 * GIB, {
  peak_rss: peak(608 * MIB, 2 * GIB, 'limit'),
  peak_process_vmem: peak(700 * MIB, 2 * GIB, 'limit'),
});

describe('an upper bound that is only the limit', () => {
  it('fills no bar, counts as no approach to the limit, and raises no request', () => {
    const text = shown([sleeper]);
    assert.match(text, /Memory .* ≥ 1\.50 MiB of 200 MiB +0\.8 %/);
    assert.match(text, /Address space .* ≥ 4\.26 MiB of 200 MiB +2\.1 %/);
    assert.match(text, /It requested 47 times its observed peak\./);
    assert.match(
      text,
      /Next time: qsub -l h_vmem=100M\n +the largest address space \(4\.26 MiB\) and 20 % headroom; 100 MiB is the smallest request advised;\n +that figure is a\n? *lower bound/,
    );
    assert.doesNotMatch(text, /close to its limit|100 %|h_vmem=250M/);
  });

  it('is marked in the table of peaks', () => {
    const text = shown([sleeper]);
    assert.match(text, /largest address space +≥ 4\.26 MiB +up to the limit +2\.1 %/);
    assert.match(text, /RSS and swap and largest address space: the upper bound is only the limit/);
  });

  it('does not fill the bar of a running job', () => {
    const running = { ...sleeper, status: 'running' as const, ended_at: null, exit_status: null, signal: null };
    assert.doesNotMatch(shown([running]), /100 %/);
    const figures = figuresOfPart([running], { master: true, tasks: 0, past: false });
    assert.deepEqual([figures?.lower, figures?.upper], [1.5 * MIB, null]);
  });

  it('leaves the job among the wasters in the report, with advice to request less', async () => {
    const report = await sampleReport({}, [inPeriod(wrapped)]);
    const [line] = report.wasters[0]?.jobs.lines ?? [];
    assert.deepEqual(
      [line?.peak_bytes, line?.advice?.kind, line?.advice?.request],
      [608 * MIB, 'lower', 'h_vmem=850M'],
    );
    assert.match(renderReport(report, screen).join('\n'), /align_reads +2 GiB +(≥ )?608 MiB/);
  });

  it('is no evidence that memory ended the job', () => {
    const killed = { ...wrapped, exit_status: 137, signal: 9 };
    assert.equal(memoryEnd(killed)?.by, null);
    const measured = peak(608 * MIB, 2 * GIB);
    assert.equal(memoryEnd({ ...killed, peak_rss: measured, peak_rss_swap: measured })?.by, 'execd');
  });
});

describe('one peak', () => {
  const between = job(2 * GIB, {
    peak_rss: peak(608.7 * MIB, 611.6 * MIB),
    peak_process_vmem: peak(630 * MIB, 640 * MIB),
  });

  it('has the same number and share on every screen', async () => {
    const [head = ''] = /^ +Memory .*$/m.exec(shown([between])) ?? [];
    assert.match(head, / 608 MiB of 2 GiB +30 %$/);
    const line = [between] as const;
    assert.deepEqual(
      [RECORD_COLUMNS.peak.cell(line, screen), RECORD_COLUMNS.share.cell(line, screen)],
      ['608 MiB', '30 %'],
    );
    const [run] = asRuns([between]);
    assert.ok(run !== undefined);
    assert.deepEqual([RUN_COLUMNS.peak.cell(run, screen), RUN_COLUMNS.memory.cell(run)], ['608 MiB', '30 %']);
    const report = renderReport(await sampleReport({}, [inPeriod(between)]), screen).join('\n');
    assert.match(report, /align_reads +2 GiB +(≥ )?608 MiB/);
    assert.match(report, /Memory, peak .* 30 %/);
    assert.doesNotMatch(report, /609|61[12] MiB/);
    assert.match(shown([between]), /memory \(RSS\), no swap +608 – 612 MiB +proved +30 %/);
  });

  it('is called close to the limit with "may" where only its upper bound is close', () => {
    const close = job(2 * GIB, {
      peak_rss: peak(1.7 * GIB, 1.9 * GIB),
      peak_process_vmem: peak(1.7 * GIB, 1.75 * GIB),
    });
    const text = shown([close]);
    assert.match(text, /Memory .* 1\.70 GiB of 2 GiB +85 %/);
    assert.match(text, /It may have come close to its limit\./);
    assert.match(text, /the peak \(1\.90 GiB at most\) and 20 % headroom/);
    const full = peak(1.9 * GIB, 1.91 * GIB);
    const near = job(2 * GIB, { peak_rss: full, peak_process_vmem: full });
    assert.match(shown([near]), /It came close to its limit\./);
    // The reason as pages give it, where the advice may rest on other runs.
    const far = job(20 * GIB, { peak_rss: full, peak_process_vmem: full });
    assert.equal(raiseReason([far, near], true), 'It came close to its limit.');
    assert.match(raiseReason([far], true), /^Another run of its kind needed nearly all/);
    assert.match(raiseReason([far], false), /^By Grid Engine's figure/);
  });
});

describe('a job on two hosts', () => {
  const granted: readonly GrantedSlots[] = [
    { host: 'n1', slots: 1 },
    { host: 'n2', slots: 1 },
  ];
  const part = (host: string, fields: Partial<JobRecord>): JobRecord =>
    job(
      GIB,
      { peak_rss: peak(157 * MIB, 170 * MIB), peak_process_vmem: peak(160 * MIB, 165 * MIB) },
      {
        host,
        pe: 'mpi',
        slots: 2,
        run_id: `1f2e3d4c.${host}.1`,
        series: {
          start: after(0),
          step_seconds: 60,
          rss_bytes: Array.from({ length: 80 }, () => 157 * MIB),
          others: {},
        },
        ...fields,
      },
    );
  const records = [part('n1', { granted_hosts: granted }), part('n2', { pe_task_id: '1.n2' })] as const;

  it("is measured on its fullest host by that host's limit, and in sum by the sum of limits", () => {
    const text = shown(records);
    assert.match(text, /Memory .* 157 MiB of 1 GiB on n1 +15 %/);
    assert.match(text, /both hosts at one time: about 314 MiB of 2 GiB \(15 %\), by their samples/);
    assert.doesNotMatch(text, /7\.7 %/);
  });

  it('has the same share in JSON and in an array', () => {
    assert.equal(sumOfJob(records, 1).memory_efficiency, 157 / 1024);
    const tasks = [1, 2].flatMap((task_id) => records.map((record) => ({ ...record, task_id })));
    const text = shown(tasks);
    assert.match(text, /Memory .* 157 MiB of 1 GiB on n1 +15 %/);
    assert.match(text, / 1 +n1 .* 157 MiB +15 % /);
  });
});
