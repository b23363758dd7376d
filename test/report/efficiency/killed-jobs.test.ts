import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askForKilled } from '../../../src/report/efficiency/killed-jobs';
import { ClassHistory } from '../../../src/report/advice/class-history';
import { lineOfKilled } from '../../../src/report/efficiency/job-line';
import type { JobLine, KilledList } from '../../../src/report/efficiency/report';
import { renderReportHtml } from '../../../src/report/efficiency/html/page';
import { renderReport } from '../../../src/report/efficiency/text';
import { causeAccounts } from '../../../src/report/why/causes';
import type { JobRecord } from '../../../src/record/record';
import { tenMinutesOf, modest } from '../bad-ends';
import { asRuns, mpiMaster, mpiTask, openBracket } from '../sample-records';
import { testScreen } from '../screens';
import { memoryReader } from './memory-reader';
import { NIGHT } from './sample-cluster';
import { sampleReport } from './sample-report';

const GIB = 1024 ** 3;
const END = new Date(NIGHT.since.getTime() + 8 * 3_600_000).toISOString();
const held = (bytes: number): Partial<JobRecord> => ({
  peak_rss: openBracket(bytes, null, null),
  peak_rss_swap: openBracket(bytes, null, null),
});
const KILLED = { exit_status: 137, signal: 9 };

const atLimit: JobRecord = { ...modest, ...KILLED, ...held(3.9 * GIB), ended_at: END, job_id: 11, job_name: 'a_1' };

/** Each of these counts as killed by memory in the sums. */
const RECORDS: readonly JobRecord[] = [
  atLimit,
  { ...atLimit, job_id: 12, job_name: 'a_2' },
  {
    ...atLimit,
    job_id: 13,
    job_name: 'both',
    failed: 37,
    grid_engine: tenMinutesOf({ category: '-l h_rt=600,h_vmem=4G', maxvmem_bytes: 4.1 * GIB }),
  },
  // Grid Engine says failed=100, not 37: in 8.1.9 this speaks against its own kill at a limit.
  { ...atLimit, job_id: 14, job_name: 'deleted', failed: 100, grid_engine: tenMinutesOf() },
];

const historyOf = (records: readonly JobRecord[]): ClassHistory =>
  new ClassHistory(async (query) => (await memoryReader(records).records(query)).records, NIGHT.until.getTime());

const linesOf = async (records: readonly JobRecord[], dialect: 'sge8.1.9' | 'unknown'): Promise<KilledList> =>
  (await sampleReport({ dialect }, records)).killed_by_memory;

const byName = ({ lines }: KilledList, name: string): JobLine => {
  const line = lines.find(({ job_name: own }) => own === name);
  assert.ok(line);
  return line;
};

describe('jobs that memory ended', () => {
  it('are explained as `qmemacct job` explains them', async () => {
    for (const dialect of ['sge8.1.9', 'unknown'] as const) {
      const { lines } = await linesOf(RECORDS, dialect);
      assert.ok(lines.length >= 2);
      for (const line of lines) {
        const records = RECORDS.filter(({ job_id: id }) => id === line.job_id);
        const [account] = causeAccounts(asRuns([...records]), dialect);
        assert.deepEqual([line.cause?.causes, line.cause?.confidence], [account?.causes, account?.confidence]);
        assert.equal(line.next_time, account?.next_time);
        // The times are left out: the report shows local ones.
        const untimed = (text = ''): string => text.replace(/ at [\dT:-]+Z?/g, '');
        assert.equal(untimed(line.cause?.sentence), untimed(account?.sentence));
      }
    }
  });

  it('are advised by past runs of their class, as on the screen of the job', async () => {
    const past = Array.from({ length: 40 }, (_, index): JobRecord => {
      const started = NIGHT.since.getTime() - (40 - index) * 3_600_000;
      return {
        ...modest,
        ...held(5.6 * GIB),
        h_vmem: { request_bytes: 8 * GIB, limit_bytes: 8 * GIB, per: 'slot' },
        job_id: 1000 + index,
        job_name: `a_${index}`,
        run_id: `1f2e3d4c.${1000 + index}.1`,
        submitted_at: new Date(started).toISOString(),
        started_at: new Date(started).toISOString(),
        ended_at: new Date(started + 600_000).toISOString(),
      };
    });
    const records = [...past, ...RECORDS];
    const line = byName(await linesOf(records, 'sge8.1.9'), 'a_#');
    const runs = await historyOf(records).advise(asRuns([atLimit]));
    const [account] = causeAccounts(runs, 'sge8.1.9');
    assert.equal(line.next_time, account?.next_time);
    assert.ok((line.advice?.risk ?? null) !== null);
    assert.notEqual(line.next_time, causeAccounts(asRuns([atLimit]), 'sge8.1.9')[0]?.next_time);
  });

  it('share one line if their names differ in digits only', async () => {
    const line = byName(await linesOf(RECORDS, 'sge8.1.9'), 'a_#');
    assert.deepEqual([line.jobs, line.cause?.alike, line.cause?.looked_at], [2, 2, 2]);
    assert.equal(line.next_time, 'qsub -l h_vmem=6G');
    assert.match(line.cause?.sentence ?? '', /Grid Engine's own kill at h_vmem\. It held at least 3\.9/);
  });

  it('are advised to raise every limit that may have stopped them', async () => {
    const line = byName(await linesOf(RECORDS, 'sge8.1.9'), 'both');
    assert.deepEqual(line.cause?.causes, ['h_vmem', 'h_rt']);
    assert.equal(line.next_time, 'qsub -l h_vmem=6G,h_rt=0:20:00');
  });

  it('leave out those that something other than memory ended', async () => {
    const listed = await linesOf(RECORDS, 'sge8.1.9');
    assert.deepEqual([listed.records, listed.otherwise], [4, 1]);
    assert.ok(listed.lines.every(({ job_name: name }) => name !== 'deleted'));
    const ofUnknown = await linesOf(RECORDS, 'unknown');
    assert.equal(ofUnknown.otherwise, 0);
  });

  it('are judged by all records of a parallel job', async () => {
    const end = { ended_at: END, ...KILLED };
    // Slave tasks have no job name.
    const task = { ...end, job_name: null };
    const full = { ...mpiTask(1), ...task, ...held(31.8 * GIB) };
    const job = [{ ...mpiMaster(2), ...end }, full, { ...mpiTask(2), ...task, ...held(2 * GIB) }];
    const { found } = await askForKilled(memoryReader(job), historyOf(job), job, 'unknown', 10);
    assert.deepEqual(
      found.map(({ runs }) => runs.map(({ records }) => records.length)),
      [[3]],
    );
    const [one] = found;
    assert.ok(one);
    const line = lineOfKilled(one, false);
    const [account] = causeAccounts(asRuns(job), 'unknown');
    assert.deepEqual([line.job_id, line.job_name, line.next_time], [4800, 'cfd_solve', account?.next_time]);
    assert.deepEqual(line.cause?.causes, account?.causes);
  });

  it("show Grid Engine's memory figure where they were not sampled", async () => {
    const counted = { ...atLimit, failed: 37, grid_engine: tenMinutesOf({ maxvmem_bytes: 4.2 * GIB }) };
    const unmeasured = { peak_rss: null, peak_rss_swap: null, peak_vmem: null, peak_process_vmem: null };
    const report = await sampleReport({}, [{ ...counted, ...unmeasured }]);
    const text = renderReport(report, testScreen({ width: 100 })).join('\n');
    assert.match(text, /Ended by memory[^]* 4 GiB +~4\.20 GiB [^]*Peaks with ~ are of Grid Engine \(maxvmem\)/);
    assert.match(renderReportHtml(report), />~4\.20 GiB</);
  });

  it('are shown harmlessly, whatever the program is called', async () => {
    const hostile = {
      ...atLimit,
      exit_status: 1,
      signal: 0,
      peak_process_vmem: openBracket(3.95 * GIB, null, '\u001b]0;x\u0007<b>&'),
    };
    const report = await sampleReport({}, [hostile]);
    const text = renderReport(report, testScreen({ width: 80 }));
    assert.match(text.join(' '), /memory that was refused at h_vmem/);
    assert.doesNotMatch(text.join(''), /\p{C}/u);
    const page = renderReportHtml(report);
    assert.match(page, /memory that was refused at h_vmem\. The address space of a process/);
    assert.ok(!page.includes('\u001b') && !page.includes('<b>&'));
  });
});
