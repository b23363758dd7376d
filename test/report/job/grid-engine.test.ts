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

const with_ = (changes: Partial<GridEngineAccount>): JobRecord => ({
  ...ordinary,
  grid_engine: { ...account, ...changes },
});

const line = (record: JobRecord, dialect?: Parameters<typeof renderGridEngine>[3], name = 'maxvmem'): string =>
  renderGridEngine(record, 90, testScreen(), dialect).find((one) => one.startsWith(name)) ?? '';

describe('renderGridEngine', () => {
  it('stands in a job’s report', () => {
    const runs = [{ record: { ...with_({}), series: null }, attempt: 1, incarnation: 1 }];
    const report = { job_id: 4711, runs, older: 0, newer: 0 };
    assertGolden('joined', renderJob(report, { detail: 'full', allTasks: false }, testScreen()));
  });

  it('is submitted on one line, in short where there is room for it', () => {
    const shown = (changes: Partial<GridEngineAccount>, more: Partial<JobRecord> = {}): readonly string[] => {
      const runs = [{ record: { ...with_(changes), ...more }, attempt: 1, incarnation: 1 }];
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

  it('says nothing where Grid Engine’s line has not come', () => {
    assert.deepEqual(renderGridEngine(ordinary, 90, testScreen()), []);
  });

  it('compares maxvmem with what it is in its dialect', () => {
    assert.match(line(with_({}), 'sge8.1.9'), /1\.52 GiB +≥ 1\.53 GiB +RSS and swap of all processes$/);
    assert.match(line(with_({}), 'sge6.2'), /1\.52 GiB .*address spaces of all processes$/);
  });

  it('calls maxrss what it is in its dialect', () => {
    assert.match(line(with_({}), 'sge8.1.9', 'maxrss'), /819 MiB +the largest process$/);
    assert.match(line(with_({}), 'ocs', 'maxrss'), /819 MiB +≥ \S+ GiB +RSS of all processes$/);
    const bySystemd = with_({ maxvmem_bytes: null });
    assert.match(line(bySystemd, 'ocs', 'maxrss'), /819 MiB +the cgroup's memory, page cache included$/);
    assert.match(line(with_({}), 'univa', 'maxrss'), /the largest process, or as its version counts$/);
  });

  it('tells what it is by the figure where the dialect is not known, or that it does not know', () => {
    assert.match(line(with_({})), /RSS and swap of all processes, by the figure$/);
    const { peak_vmem: vmem } = ordinary;
    assert.ok(vmem);
    assert.match(line(with_({ maxvmem_bytes: vmem.lower_bytes })), /address spaces of all processes, by the figure$/);
    assert.match(line(with_({ maxvmem_bytes: 100 * GIB })), /100 GiB +RSS and swap, or address spaces: by version$/);
    assert.match(line({ ...with_({}), peak_rss_swap: null, peak_vmem: null }), /: by version$/);
  });

  it('adds up the lines of a parallel job', () => {
    assert.equal(wholeAccount([ordinary]), null);
    const one = with_({});
    assert.equal(wholeAccount([ordinary, one]), one.grid_engine);
    const whole = wholeAccount([
      one,
      with_({ wallclock_seconds: 6000, io_gib: null, deleted_by: 'bob@login' }),
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

  it('is harmless, and keeps within its width', () => {
    const record = with_({ deleted_by: `${hostile.owner ?? ''}@${hostile.job_name ?? ''}`, io_gib: 1e15 });
    for (const unicode of [true, false])
      for (const text of renderGridEngine(record, 50, testScreen({ unicode }))) {
        assert.ok(displayWidth(text) <= 50, text);
        assert.doesNotMatch(text, unicode ? /\p{C}/u : /[^ -~]/);
      }
  });
});
