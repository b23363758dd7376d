import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { HistoryStore } from '../../../src/accounting/history-store';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import type { RecordsQuery } from '../../../src/accounting/store';
import { adviseRequest } from '../../../src/report/advice/advice';
import { ClassHistory } from '../../../src/report/advice/class-history';
import type { ReportReader } from '../../../src/report/efficiency/ask';
import type { JobRun } from '../../../src/report/job/job-run';
import { makeReport } from '../../../src/report/efficiency/build';
import type { Report } from '../../../src/report/efficiency/report';
import type { Sums } from '../../../src/report/efficiency/sums';
import type { JobRecord } from '../../../src/record/record';
import { needing, pastJobs } from '../past-jobs';
import { killedAtLimit, mpiMaster, mpiTask, openBracket, ordinary } from '../sample-records';
import { memoryReader } from './memory-reader';
import { NIGHT, sampleCluster } from './sample-cluster';
import { QUESTION } from './sample-report';
import { temporaryDirectory } from '../../support/temporary-directory';

process.env.TZ = 'Europe/Berlin';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const GIB = 2 ** 30;
const directory = temporaryDirectory();
const records = sampleCluster(120);
let store: HistoryStore;

before(async () => {
  store = openSqliteHistory(join(directory, 'accounting.db'), 0o600);
  const outcomes = await store.merge(records);
  assert.ok(outcomes.every(({ ok }) => ok));
});

after(async () => {
  await store.close();
});

const MONTH = { ...QUESTION, since: new Date(NIGHT.until.getTime() - 9 * DAY_MS) };

function assertSameSums(actual: Sums, expected: Sums): void {
  for (const name of Object.keys(expected) as (keyof Sums)[]) {
    const [a, b] = [actual[name] ?? NaN, expected[name] ?? NaN];
    // Stores keep bytes, ms and joules as whole numbers.
    assert.ok(Math.abs(a - b) <= 1e-4 * Math.max(1, Math.abs(b)) || Number.isNaN(a + b), `${name}: ${a}, not ${b}`);
  }
}

function assertSame(actual: Report, expected: Report): void {
  assertSameSums(actual.site, expected.site);
  assert.deepEqual(
    actual.groups.map(({ name }) => name),
    expected.groups.map(({ name }) => name),
  );
  actual.groups.forEach(({ sums }, index) => assertSameSums(sums, expected.groups[index]?.sums ?? assert.fail()));
  const lines = ({ wasters, killed_by_memory: killed, far_below: far }: Report): unknown =>
    [killed, far, ...wasters.map(({ jobs }) => jobs)].map((list) =>
      list.lines.map(({ job_name: name, jobs, records: count, advice, peak_bytes: peak }) => [
        name,
        jobs,
        count,
        advice,
        peak,
      ]),
    );
  assert.deepEqual(lines(actual), lines(expected));
  assert.deepEqual(actual.coverage, expected.coverage);
  assert.deepEqual(actual.silent_nodes, expected.silent_nodes);
  assert.deepEqual(
    actual.shares.map(({ records: count }) => count),
    expected.shares.map(({ records: count }) => count),
  );
}

describe('makeReport', () => {
  it('lists a job name beside one that its pattern matches', async () => {
    const at = NIGHT.since.getTime() + HOUR_MS;
    const small = { peak_rss: openBracket(GIB, null, null), wallclock_seconds: 300 };
    const numbered = pastJobs(80, (index) => ({ ...small, job_name: `s${index}` }), at);
    // Each of these wasted more, all of them together less.
    const large = { job_name: 'snake.rule', wallclock_seconds: 450 };
    const like = pastJobs(40, (index) => ({ ...large, job_id: 2000 + index }), at);
    const reader = memoryReader([...numbered, ...like]);
    const { wasters } = await makeReport(reader, { ...QUESTION, ...NIGHT });
    assert.deepEqual(
      wasters.flatMap(({ jobs }) => jobs.lines.map(({ job_name: name }) => name)),
      ['s#', 'snake.rule'],
    );
  });

  it('sums a real store as plain code does, before its days are rolled up and after', async () => {
    const plain = memoryReader(records);
    for (const rolled of [false, true]) {
      if (rolled) await store.rollUp({});
      for (const question of [QUESTION, MONTH])
        assertSame(await makeReport(store, question), await makeReport(plain, question));
    }
  });

  it('groups by every dimension, and reports on one owner', async () => {
    for (const by of ['project', 'queue', 'host', 'job_name'] as const) {
      const report = await makeReport(store, { ...QUESTION, by });
      assert.equal(
        report.groups.reduce((sum, { sums }) => sum + sums.records, 0),
        report.site.records,
      );
    }
    const own = await makeReport(store, { ...MONTH, owner: 'tanaka', by: 'job_name' });
    assertSame(own, await makeReport(memoryReader(records), { ...MONTH, owner: 'tanaka', by: 'job_name' }));
  });

  it('counts each host of a parallel job once, and lists the job on one line', async () => {
    const path = join(directory, 'parallel.db');
    const parallel = openSqliteHistory(path, 0o600);
    try {
      const end = new Date(NIGHT.until.getTime() - 3_600_000).toISOString();
      const job: readonly JobRecord[] = [mpiMaster(2), mpiTask(1), mpiTask(1, 2), mpiTask(2)].map((record) => ({
        ...record,
        job_name: record.pe_task_id === null ? record.job_name : null,
        ended_at: end,
        wallclock_seconds: 3600,
      }));
      await parallel.merge(job);
      const { site, wasters } = await makeReport(parallel, QUESTION);
      // 16 slots and 32 GiB on each of two hosts for an hour.
      assert.deepEqual([site.records, site.jobs, site.core_hours, site.requested_gib_hours], [4, 1, 32, 64]);
      assert.deepEqual(
        wasters.map(({ jobs }) => jobs.lines.map(({ job_name: name, hosts, jobs: count }) => [name, hosts, count])),
        [[['cfd_solve', ['node01', 'node02'], 1]]],
      );
      const [line] = wasters[0]?.jobs.lines ?? [];
      // What the two hosts were given, less what all tasks held, although tasks have no job name.
      assert.ok(Math.abs((line?.waste_gib_hours ?? 0) - site.waste_gib_hours) < 1e-9 && site.waste_gib_hours > 0);
      // Two tasks on the first host: their peaks together are the need, not the master's peak.
      const one = mpiTask(1).peak_rss?.lower_bytes ?? assert.fail();
      assert.ok((line?.peak_bytes ?? 0) >= one && (line?.advice?.total_bytes ?? 0) >= 2 * one);
    } finally {
      await parallel.close();
    }
  });

  it('compares requests only with the memory of jobs that have a request', async () => {
    const mixed = openSqliteHistory(join(directory, 'mixed.db'), 0o600);
    const end = NIGHT.until.getTime() - HOUR_MS;
    const peak = ordinary.peak_rss ?? assert.fail();
    const jobOf = (job_id: number, owner: string, requested: number | null, held: number): JobRecord => ({
      ...ordinary,
      job_id,
      owner,
      run_id: `1f2e3d4c.${job_id}.99120`,
      started_at: new Date(end - HOUR_MS).toISOString(),
      ended_at: new Date(end).toISOString(),
      wallclock_seconds: 3600,
      host_slots: 1,
      h_vmem: requested === null ? null : { request_bytes: requested * GIB, limit_bytes: requested * GIB, per: 'slot' },
      requests: {},
      peak_rss: { ...peak, lower_bytes: held * GIB },
      rss_byte_seconds: held * GIB * 3600,
    });
    try {
      const steps = [jobOf(1, 'anna', 10, 1), jobOf(2, 'bob', null, 8), jobOf(3, 'anna', null, 9)];
      for (const [index, record] of steps.entries()) {
        await mixed.merge([record]);
        const { site, wasters } = await makeReport(mixed, QUESTION);
        assert.deepEqual([site.waste_gib_hours, site.peak_efficiency, site.memory_efficiency], [9, 0.1, 0.1]);
        assert.equal(site.peak_gib_hours, [1, 9, 18][index]);
        assert.deepEqual(
          wasters.map(({ name, jobs }) => [name, jobs.lines.map(({ waste_gib_hours: waste }) => waste)]),
          [['anna', [9]]],
        );
      }
    } finally {
      await mixed.close();
    }
  });

  it("advises on a class of jobs as the job's own screen does, however many runs it has had", async () => {
    const first = NIGHT.until.getTime() - 300 * 600_000;
    const past = pastJobs(300, (index) => needing(1 + ((index * 7) % 10) / 10), first);
    const reader = memoryReader(past);
    const { wasters } = await makeReport(reader, QUESTION);
    const history = new ClassHistory(async (query) => (await reader.records(query)).records, QUESTION.now.getTime());
    const last = past.slice(-1);
    const [job] = await history.advise(last.map((record): JobRun => ({ record, attempt: 1, incarnation: 1 })));
    const prediction = job?.prediction ?? assert.fail();
    const { risk, runs, request } = wasters[0]?.jobs.lines[0]?.advice ?? assert.fail();
    const expected = adviseRequest(last, prediction);
    assert.deepEqual([risk, runs, request], [prediction.risk, prediction.runs, expected?.request]);
  });

  it('lists a host as without jobs only if it had none in the whole period, its first day and today included', async () => {
    const month = openSqliteHistory(join(directory, 'hosts.db'), 0o600);
    const since = Date.UTC(2026, 9, 1);
    const until = Date.UTC(2026, 9, 31, 12);
    const jobOn = (host: string, end: number): JobRecord => ({
      ...ordinary,
      host,
      run_id: `1f2e3d4c.${host}.${end}`,
      started_at: new Date(end - HOUR_MS).toISOString(),
      ended_at: new Date(end).toISOString(),
    });
    try {
      const before = ['first', 'today', 'gone'].map((host) => jobOn(host, since - 2 * DAY_MS));
      await month.merge([...before, jobOn('first', since + DAY_MS / 2), jobOn('today', until - HOUR_MS)]);
      const now = new Date(until);
      const report = await makeReport(month, { ...QUESTION, since: new Date(since), until: now, now });
      assert.deepEqual(report.hosts_without_jobs, ['gone']);
    } finally {
      await month.close();
    }
  });

  it('lists jobs of today alone: those that memory ended, and those of a waster', async () => {
    const until = Date.UTC(2026, 10, 24, 5);
    const jobAt = (end: number, record: JobRecord): JobRecord => ({
      ...record,
      run_id: `1f2e3d4c.${end}.${record.job_id}`,
      started_at: new Date(end - HOUR_MS).toISOString(),
      ended_at: new Date(end).toISOString(),
      wallclock_seconds: 3600,
    });
    const past = [2, 3, 4].map((days) => jobAt(until - days * DAY_MS, { ...ordinary, peak_rss: null, job_id: days }));
    const killed = jobAt(until - HOUR_MS, { ...killedAtLimit, owner: 'dora' });
    const wasted = jobAt(until - HOUR_MS, { ...ordinary, owner: 'emil' });
    for (const since of [until - DAY_MS, until - 9 * DAY_MS]) {
      const question = { ...QUESTION, since: new Date(since), until: new Date(until), now: new Date(until) };
      const report = await makeReport(memoryReader([...past, killed, wasted]), question);
      assert.equal(report.killed_by_memory.records, 1);
      assert.deepEqual(
        report.killed_by_memory.lines.map(({ job_id: job }) => job),
        [killed.job_id],
      );
      const lines = report.wasters.find(({ name }) => name === 'emil')?.jobs.lines;
      assert.deepEqual(
        lines?.map(({ job_id: job }) => job),
        [wasted.job_id],
      );
    }
  });

  it('reads a bounded number of records of a long period, on a few days', async () => {
    const queries: RecordsQuery[] = [];
    // Each record stands for a thousand.
    const reader: ReportReader = {
      summary: async (query) => {
        const answer = await store.summary(query);
        const groups = answer.groups.map(({ key, totals }) => ({
          key,
          totals: { ...totals, records: totals.records * 1000 },
        }));
        return { ...answer, groups };
      },
      records: (query) => (queries.push(query), store.records(query)),
      job: (query) => store.job(query),
      nodes: (query) => store.nodes(query),
    };
    const report = await makeReport(reader, MONTH);
    assert.ok(queries.length < 150, String(queries.length));
    for (const { since, until, limit = 0, host, owner, fields } of queries) {
      // Only wait times are asked with a list of fields.
      assert.ok(limit <= (fields === undefined ? 501 : 5001));
      assert.ok(host !== undefined || owner !== undefined || until - since <= 3 * DAY_MS);
    }
    const [first] = report.wasters;
    assert.equal(first?.jobs.looked_at_days?.length, 1);
  });
});
