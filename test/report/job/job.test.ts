import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { displayWidth } from '../../../src/report/screen/text-width';
import type { JobRecord } from '../../../src/record/record';
import { nextRequests } from '../../../src/report/advice/next-request';
import { renderJob, type JobReport } from '../../../src/report/job/job';
import type { JobRun } from '../../../src/report/job/job-run';
import { bracketOf } from '../../support/records';
import { BAD_ENDS, modest, tenMinutesOf } from '../bad-ends';
import { assertGolden } from '../golden';
import {
  after,
  arrayOfTwenty,
  asRuns,
  firstRun,
  hostile,
  killedAtLimit,
  lost,
  mpiMaster,
  mpiTask,
  openBracket,
  ordinary,
  reserving,
  reservingOnly,
  running,
  selfReported,
  unsampled,
  wellWatched,
} from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

const reportOf = (runs: readonly JobRun[], older = 0): JobReport => ({
  job_id: runs[0]?.record.job_id ?? 0,
  runs,
  older,
  newer: 0,
});
const GIB = 1024 ** 3;
const full = { detail: 'full', allTasks: false } as const;
const short = { allTasks: false };

const twoHosts: readonly JobRun[] = asRuns([
  { ...ordinary, pe: 'orte', slots: 6 },
  { ...ordinary, pe: 'orte', slots: 6, host_slots: 2, host: 'node08', pe_task_id: '1.node08', run_id: '9.1.1' },
]);

const onHosts = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);
const mpiRuns = (hosts: number): readonly JobRun[] =>
  asRuns([mpiMaster(hosts), ...onHosts(hosts).map((number) => mpiTask(number))]);
const unseenHost: readonly JobRun[] = asRuns([mpiMaster(4), mpiTask(1), mpiTask(2), mpiTask(2, 3), mpiTask(4)]);

const samples: Readonly<Record<string, JobReport>> = {
  ordinary: reportOf(asRuns([ordinary])),
  'reserving-only': reportOf(asRuns([reservingOnly])),
  'reserving-only-killed': reportOf(
    asRuns([{ ...reservingOnly, exit_status: 137, signal: 9, failed: 100, grid_engine: tenMinutesOf({}) }]),
  ),
  'suspended-for-an-hour': reportOf(asRuns([{ ...ordinary, cpu_seconds: 5130, suspended_seconds: 3600.4 }])),
  'killed-at-limit': reportOf(asRuns([killedAtLimit])),
  unsampled: reportOf(asRuns([unsampled])),
  'only-its-accounting-line': reportOf(
    asRuns([
      {
        ...unsampled,
        trust: 'accounting',
        peak_rss: null,
        grid_engine: tenMinutesOf({ maxvmem_bytes: 24 * 1024 ** 2 }),
      },
    ]),
  ),
  lost: reportOf(asRuns([lost])),
  running: reportOf(asRuns([running])),
  'self-reported': reportOf(asRuns([selfReported])),
  reserving: reportOf(asRuns([reserving])),
  'well-watched': reportOf(asRuns([wellWatched])),
  hostile: reportOf(asRuns([hostile])),
  'array-of-20': reportOf(asRuns(arrayOfTwenty)),
  're-run-of-a-re-used-number': reportOf([...asRuns([firstRun]), ...asRuns([ordinary], 2)], 3),
  'two-hosts': reportOf(twoHosts),
  'four-hosts': reportOf(mpiRuns(4)),
  'sixty-four-hosts': reportOf(mpiRuns(64)),
  'a-host-not-seen': reportOf(unseenHost),
  'only-the-master': reportOf(asRuns([mpiMaster(4)])),
};

it('a job with a limit that it did not request is told so', () => {
  const words = (category: string | null): string =>
    renderJob(
      reportOf(asRuns([{ ...wellWatched, grid_engine: tenMinutesOf({ category }) }])),
      short,
      testScreen(),
    ).join('\n');
  assert.match(words('-pe smp 2'), /It requested no h_vmem: the default is 8 times its observed peak\./);
  assert.match(words(null), /It requested no h_vmem: /);
  assert.match(words('-l h_vmem=4G'), /It requested 8 times its observed peak\./);
});

describe('renderJob', () => {
  for (const [name, report] of Object.entries(samples)) {
    it(`shows ${name}`, () => assertGolden(name, renderJob(report, full, testScreen())));

    it(`keeps ${name} within 60 and 80 columns`, () => {
      for (const [width, unicode] of [60, 80].flatMap((columns) => [
        [columns, true] as const,
        [columns, false] as const,
      ])) {
        const screen = testScreen({ width, unicode });
        const lines = [full, short, { ...full, allTasks: true, allHosts: true }].flatMap((detail) =>
          renderJob(report, detail, screen),
        );
        assert.deepEqual(
          lines.filter((line) => displayWidth(line) > width),
          [],
        );
        assert.doesNotMatch(lines.join(''), /\p{C}/u);
        if (!unicode) assert.match(lines.join(''), /^[ -~]*$/);
      }
    });
  }

  for (const [name, report] of Object.entries(samples)) {
    it(`shows ${name} on 24 lines of 80 columns`, () => {
      const lines = renderJob(report, short, testScreen({ width: 80 }));
      assert.ok(lines.length <= 24, String(lines.length));
      assert.deepEqual(
        lines.filter((line) => displayWidth(line) > 80),
        [],
      );
      assertGolden(`short/${name}`, lines);
    });
  }

  for (const name of ['ordinary', 'array-of-20', 'four-hosts']) {
    it(`shows ${name} on 60 columns`, () => {
      const report = samples[name] ?? assert.fail();
      assertGolden(`narrow/${name}`, renderJob(report, full, testScreen({ width: 60 })));
    });
  }

  it('has six lines with --brief', () => {
    for (const report of Object.values(samples)) {
      const lines = renderJob(report, { ...short, detail: 'brief' }, testScreen({ width: 80 }));
      assert.deepEqual(
        lines.slice(0, 6).map((line) => line.split(':')[0]),
        ['Job', 'State', 'Elapsed', 'CPU', 'Memory', 'Next time'],
      );
    }
  });

  it('says with --brief that nothing is to change or nothing is known, and shortens a long cause', () => {
    const brief = (record: JobRecord): readonly string[] =>
      renderJob(reportOf(asRuns([record])), { ...short, detail: 'brief' }, testScreen({ width: 60 }));
    const fitting = { ...modest, h_vmem: { request_bytes: 1.4 * GIB, limit_bytes: 1.4 * GIB, per: 'slot' as const } };
    assert.equal(brief(fitting).at(5), 'Next time: no change');
    assert.equal(brief(unsampled).at(5), 'Next time: unknown');
    const killed = brief(BAD_ENDS['killed-nobody-knows-why']);
    assert.equal(killed.at(5), 'Next time: unknown');
    assert.match(killed[1] ?? '', /^State: killed by SIGKILL .*…$/);
  });

  it("shows the cgroup's peak as an upper bound where no process was measured", () => {
    const peak_footprint = bracketOf(0, 10_465_280, { sources: ['cgroup'] });
    const lines = renderJob(
      reportOf(asRuns([{ ...unsampled, peak_rss: null, peak_footprint }])),
      short,
      testScreen({ width: 80 }),
    );
    assert.match(lines.join('\n'), /Memory .* at most 9\.99 MiB$/m);
  });

  it("sums a parallel job's CPU over slots and memory over hosts where only its accounting line is known", () => {
    const line: JobRecord = {
      ...unsampled,
      ...{ trust: 'accounting', peak_rss: null, pe: 'smp', slots: 16, host_slots: null },
      ...{ wallclock_seconds: 3600, cpu_seconds: 3600 },
      grid_engine: tenMinutesOf({ maxvmem_bytes: 3 * GIB }),
    };
    const lines = renderJob(reportOf(asRuns([line])), short, testScreen()).join('\n');
    assert.match(lines, /~3\.00 GiB \(sum over hosts\)/);
    assert.match(lines, /16 slots +1:00:00 CPU time +6\.3 %/);
    assert.match(renderJob(reportOf(asRuns([line])), full, testScreen()).join('\n'), /1:00:00, 6\.3 % of .* 16 slots/);
    const tasks = [1, 2].map((task): JobRecord => ({ ...line, task_id: task, run_id: `accounting.${task}` }));
    const array = renderJob(reportOf(asRuns(tasks)), full, testScreen()).join('\n');
    assert.match(array, /CPU over slots +6\.3 % +6\.3 % +6\.3 % /);
    assert.match(array, /~3\.00 GiB +6\.3 % +ok\n/);
  });

  it('shows the same text with colours', () => {
    // eslint-disable-next-line no-control-regex -- our own colour codes
    const codes = /\u001b\[\d+m/g;
    for (const report of Object.values(samples)) {
      const coloured = renderJob(report, full, testScreen({ colour: true }));
      const stripped = coloured.map((line) => line.replace(codes, '').trimEnd());
      assert.notDeepEqual(stripped, coloured);
      assert.deepEqual(stripped, renderJob(report, full, testScreen()));
    }
  });

  it('counts the earlier runs of array tasks that ran again', () => {
    const told = (reruns: number): string => {
      const again = asRuns(arrayOfTwenty.slice(0, reruns), 2);
      return renderJob(reportOf([...asRuns(arrayOfTwenty), ...again]), { allTasks: false }, testScreen()).join('\n');
    };
    assert.match(told(1), /^ +1 earlier run of a re-run task$/m);
    assert.match(told(2), /^ +2 earlier runs of re-run tasks$/m);
  });

  it('lists the tasks of a large array only when asked', () => {
    const many = arrayOfTwenty.flatMap((record) => [record, { ...record, task_id: (record.task_id ?? 0) + 20 }]);
    const report = reportOf(asRuns(many));
    const lines = renderJob(report, full, testScreen());
    assert.match(lines.join('\n'), /More: --tasks; a task: /);
    assert.ok(lines.length < 30);
    assert.ok(renderJob(report, { detail: 'full', allTasks: true }, testScreen()).length > 40 + 15);
  });

  it('shows every job of a number, newest first', () => {
    const runs = [...asRuns([firstRun]), { record: ordinary, attempt: 1, incarnation: 2 }];
    const titles = renderJob(reportOf(runs), full, testScreen()).filter((line) => line.startsWith('Job '));
    assert.match(titles[0] ?? '', /exit status 0$/);
    assert.match(titles[1] ?? '', /exit status 99$/);
  });

  it('advises no less than an earlier run needed that no limit stopped, such as before a migration', () => {
    const adviceAfter = (gib: number): readonly [string, number | undefined] => {
      const peak = openBracket(gib * GIB, after(-700), 'samtools');
      const needed = { peak_rss: peak, peak_rss_swap: peak, peak_process_vmem: peak };
      const migrated = { ...firstRun, ...needed, exit_status: 137, signal: 9, failed: 24 };
      const stopped = { ...migrated, failed: 37 };
      const runs = [...asRuns([gib < 16 ? migrated : stopped]), ...asRuns([ordinary], 2)];
      const text = renderJob(reportOf(runs), { allTasks: false }, testScreen()).join('\n');
      return [text, nextRequests(runs)[1]?.next_time?.request_bytes];
    };
    const [text, bytes] = adviceAfter(10);
    assert.match(text, /Next time: qsub -l h_vmem=3G\n .* address space \(10\.0 GiB\) of an earlier run and 20 %/);
    assert.equal(bytes, 3 * GIB);
    const [alone, less] = adviceAfter(16);
    assert.doesNotMatch(alone, /of an earlier run/);
    assert.ok((less ?? 0) < 3 * GIB);
  });

  it('renders a record of which nothing is known', () => {
    const nothing = {
      ...unsampled,
      h_vmem: null,
      peak_rss: null,
      cpu_seconds: null,
      started_at: null,
      ended_at: null,
      exit_status: null,
      signal: null,
      owner: null,
      job_name: null,
      queue: null,
      notes: [],
    };
    assert.match(renderJob(reportOf(asRuns([nothing])), full, testScreen()).join('\n'), /Peaks +not known/);
  });
});
