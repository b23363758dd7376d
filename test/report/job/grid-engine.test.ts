import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { displayWidth } from '../../../src/report/screen/text-width';
import { renderGridEngine, wholeAccount } from '../../../src/report/job/grid-engine';
import { renderJob } from '../../../src/report/job/job';
import type { GridEngineAccount, JobRecord } from '../../../src/record/record';
import { assertGolden } from '../golden';
import { hostile, ordinary } from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

const GIB = 1024 ** 3;

const account: GridEngineAccount = {
  wallclock_seconds: 5026,
  cpu_seconds: 15_650,
  user_seconds: 15_000,
  system_seconds: 650,
  maxvmem_bytes: 1.52 * GIB,
  maxrss_bytes: 0.8 * GIB,
  mem_gib_seconds: 18_000,
  io_gib: 3.25,
  category: '-l h_vmem=4G',
  submit_command: 'qsub -cwd -N blast -l h_vmem=4G,h_rt=7200 -pe smp 4 -v SAMPLES,OUT /home/alice/jobs/blast.sh ...',
  deleted_by: null,
  lines: 1,
};

const accountedJob = (changes: Partial<GridEngineAccount>): JobRecord => ({
  ...ordinary,
  grid_engine: { ...account, ...changes },
});

const lineNamed = (record: JobRecord, dialect?: Parameters<typeof renderGridEngine>[3], name = 'maxvmem'): string =>
  renderGridEngine(record, 90, testScreen(), dialect).find((one) => one.startsWith(name)) ?? '';

describe('renderGridEngine', () => {
  it('is a part of the job report', () => {
    const runs = [{ record: { ...accountedJob({}), series: null }, attempt: 1, incarnation: 1 }];
    const report = { job_id: 4711, runs, older: 0, newer: 0 };
    assertGolden('joined', renderJob(report, { detail: 'full', allTasks: false }, testScreen()));
  });

  it('shows the submit command on one line, shortened to the screen', () => {
    const shown = (changes: Partial<GridEngineAccount>, more: Partial<JobRecord> = {}): readonly string[] => {
      const runs = [{ record: { ...accountedJob(changes), ...more }, attempt: 1, incarnation: 1 }];
      return renderJob({ job_id: 4711, runs, older: 0, newer: 0 }, { allTasks: false }, testScreen({ width: 60 }));
    };
    const lines = (text: readonly string[]): readonly string[] => text.filter((one) => one.includes('Submitted'));
    const [line = '', ...others] = lines(shown({}, { series: null }));
    assert.match(line, /^ {2}Submitted: qsub -cwd -N blast .*…$/);
    assert.deepEqual([displayWidth(line), others], [60, []]);
    assert.deepEqual(lines(shown({ submit_command: null }, { series: null })), []);
    assert.ok(shown({}).length <= 24);
    const hostileLine = lines(shown({ submit_command: `qsub ${hostile.job_name ?? ''}` }, { series: null })).join();
    assert.match(hostileLine, /Submitted: qsub/);
    assert.doesNotMatch(hostileLine, /\p{C}/u);
  });

  it('shows nothing before Grid Engine’s accounting line has come', () => {
    assert.deepEqual(renderGridEngine(ordinary, 90, testScreen()), []);
  });

  it('compares maxvmem with the figure that it means in its dialect', () => {
    assert.match(lineNamed(accountedJob({}), 'sge8.1.9'), /1\.52 GiB +≥ 1\.53 GiB +RSS and swap of all processes$/);
    assert.match(lineNamed(accountedJob({}), 'sge6.2'), /1\.52 GiB .*address spaces of all processes$/);
  });

  it('explains maxrss as its dialect means it', () => {
    assert.match(lineNamed(accountedJob({}), 'sge8.1.9', 'maxrss'), /819 MiB +the largest process$/);
    assert.match(lineNamed(accountedJob({}), 'ocs', 'maxrss'), /819 MiB +≥ \S+ GiB +RSS of all processes$/);
    const bySystemd = accountedJob({ maxvmem_bytes: null });
    assert.match(lineNamed(bySystemd, 'ocs', 'maxrss'), /819 MiB +the cgroup's memory, page cache included$/);
    assert.match(lineNamed(accountedJob({}), 'univa', 'maxrss'), /the largest process, or as its version counts$/);
  });

  it('infers the meaning of maxvmem from the figure where the dialect is unknown, or says that it depends', () => {
    assert.match(lineNamed(accountedJob({})), /RSS and swap of all processes, by the figure$/);
    const { peak_vmem: vmem } = ordinary;
    assert.ok(vmem);
    assert.match(
      lineNamed(accountedJob({ maxvmem_bytes: vmem.lower_bytes })),
      /address spaces of all processes, by the figure$/,
    );
    assert.match(
      lineNamed(accountedJob({ maxvmem_bytes: 100 * GIB })),
      /100 GiB +RSS and swap, or address spaces: by version$/,
    );
    assert.match(lineNamed({ ...accountedJob({}), peak_rss_swap: null, peak_vmem: null }), /: by version$/);
  });

  it('adds up the accounting lines of a parallel job', () => {
    assert.equal(wholeAccount([ordinary]), null);
    const one = accountedJob({});
    assert.equal(wholeAccount([ordinary, one]), one.grid_engine);
    const whole = wholeAccount([
      one,
      accountedJob({ wallclock_seconds: 6000, io_gib: null, deleted_by: 'bob@login' }),
      ordinary,
    ]);
    assert.deepEqual(whole, {
      ...account,
      wallclock_seconds: 6000,
      cpu_seconds: 31_300,
      user_seconds: 30_000,
      system_seconds: 1300,
      maxvmem_bytes: 2 * 1.52 * GIB,
      maxrss_bytes: null,
      mem_gib_seconds: 36_000,
      deleted_by: 'bob@login',
      lines: 2,
    });
  });

  it('keeps to its width, and prints no control character', () => {
    const record = accountedJob({ deleted_by: `${hostile.owner ?? ''}@${hostile.job_name ?? ''}`, io_gib: 1e15 });
    for (const unicode of [true, false])
      for (const text of renderGridEngine(record, 50, testScreen({ unicode }))) {
        assert.ok(displayWidth(text) <= 50, text);
        assert.doesNotMatch(text, unicode ? /\p{C}/u : /[^ -~]/);
      }
  });
});
