import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ReportReader } from '../../../src/report/efficiency/ask';
import { makeReport } from '../../../src/report/efficiency/build';
import type { JobList } from '../../../src/report/efficiency/report';
import { renderReportHtml } from '../../../src/report/efficiency/html/page';
import { renderReport } from '../../../src/report/efficiency/text';
import type { NodeHeartbeat } from '../../../src/record/node-status';
import type { JobRecord } from '../../../src/record/record';
import { killedAtLimit, ordinary, reservingOnly } from '../sample-records';
import { statusOf } from '../../accounting/suite/node-suite';
import { testScreen } from '../screens';
import { memoryReader } from './memory-reader';
import { HOSTILE, NIGHT, sampleCluster } from './sample-cluster';
import { QUESTION, sampleReport } from './sample-report';

process.env.TZ = 'Europe/Berlin';

const GIB = 1024 ** 3;

const at = (record: JobRecord, hours: number, seconds: number): JobRecord => ({
  ...record,
  ended_at: new Date(NIGHT.since.getTime() + hours * 3_600_000).toISOString(),
  started_at: new Date(NIGHT.since.getTime() + hours * 3_600_000 - seconds * 1000).toISOString(),
  wallclock_seconds: seconds,
});

const close = (actual: number | null | undefined, expected: number): void =>
  assert.ok(Math.abs((actual ?? NaN) - expected) <= 1e-9 * Math.abs(expected), `${actual} is not ${expected}`);

const names = ({ lines }: JobList): readonly (string | null)[] => lines.map(({ job_name: name }) => name);

describe('makeReport', () => {
  it('names no job that only its owner reported', async () => {
    const huge = { request_bytes: 400 * GIB, limit_bytes: 400 * GIB, per: 'host' as const };
    const claimed = (job_id: number, changes: Partial<JobRecord>): JobRecord =>
      at({ ...ordinary, ...changes, job_id, run_id: `a.${job_id}.1`, trust: 'self-reported' }, 4, 7200);
    const report = await sampleReport({}, [
      at(ordinary, 3, 7200),
      at({ ...killedAtLimit, owner: 'alice', job_id: 2, run_id: 'a.2.1' }, 3, 7200),
      claimed(801, { h_vmem: huge }),
      claimed(802, killedAtLimit),
      claimed(803, { status: 'lost', host: 'elsewhere', exit_status: null, signal: null }),
    ]);
    const { wasters, killed_by_memory: killed, silent_nodes: silent } = report;
    const shown = [...wasters.flatMap(({ jobs }) => jobs.lines), ...killed.lines].map(({ job_id }) => job_id);
    assert.ok(shown.length > 1);
    assert.deepEqual(
      shown.filter((id) => id > 800 && id < 900),
      [],
    );
    assert.deepEqual(
      silent.filter(({ host }) => host === 'elsewhere'),
      [],
    );
  });

  it('sums what two jobs requested, held and wasted, and what would have fitted', async () => {
    // 16 GiB and 4 slots for 2 h, 4 GiB of it held; 4 GiB and 1 slot for 1 h, all of it held.
    const half = { ...(ordinary.peak_rss ?? assert.fail()), lower_bytes: 4 * GIB };
    const records = [
      at({ ...ordinary, peak_rss: half, rss_byte_seconds: 2 * GIB * 7200, cpu_seconds: 14_400 }, 3, 7200),
      at(
        {
          ...ordinary,
          job_id: 1,
          owner: 'alice',
          host_slots: 1,
          cpu_seconds: 3600,
          peak_rss: half,
          h_vmem: { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'slot' },
          rss_byte_seconds: 4 * GIB * 3600,
        },
        5,
        3600,
      ),
    ];
    const { site, fitting, groups, wasters } = await sampleReport({}, records);
    close(site.requested_gib_hours, 36);
    close(site.peak_gib_hours, 12);
    close(site.used_gib_hours, 8);
    close(site.waste_gib_hours, 24);
    close(site.peak_efficiency, 12 / 36);
    close(site.memory_efficiency, 8 / 36);
    close(site.core_hours, 9);
    close(site.cpu_efficiency, 5 / 9);
    close(fitting.gib_per_slot, 4);
    close(fitting.gib_hours_per_job, 18);
    close(site.waste_slot_hours, 6);
    close(site.waste_jobs, 24 / 18);
    assert.deepEqual(
      groups.map(({ name }) => name),
      ['bob', 'alice'],
    );
    assert.deepEqual(
      wasters.map(({ name, share_of_waste: share }) => [name, share]),
      [['bob', 1]],
    );
  });

  it('lists an array job once, with a request that is enough for all of its tasks', async () => {
    const { far_below: far } = await sampleReport();
    const line = far.lines.find(({ job_name: name }) => name === 'segment_3');
    assert.ok(line !== undefined && line.jobs > 10);
    const tasks = sampleCluster().filter(({ job_name: name, peak_rss: peak }) => name === 'segment_3' && peak !== null);
    const highest = Math.max(...tasks.map(({ peak_process_vmem: space }) => space?.lower_bytes ?? 0));
    assert.ok((line.advice?.total_bytes ?? 0) >= highest);
    assert.equal(names(far).filter((name) => name === 'segment_3').length, 1);
  });

  it('counts memory that was only reserved, and advises by the name of that complex', async () => {
    const report = await sampleReport({}, [at(reservingOnly, 3, 7200), at(ordinary, 4, 7200)]);
    close(report.site.requested_gib_hours, 64);
    assert.equal(report.site.without_limit, 0);
    const line = report.far_below.lines.find(({ job_name: name }) => name === 'impute');
    assert.deepEqual([line?.limit_bytes, line?.advice?.request], [16 * GIB, 'mem_free=500M']);
  });

  it('names the job that memory killed, and what it should request', async () => {
    const report = await sampleReport({}, [at(ordinary, 3, 7200), at(killedAtLimit, 4, 612)]);
    assert.equal(report.killed_by_memory.records, 1);
    assert.deepEqual(names(report.killed_by_memory), ['assemble']);
    assert.deepEqual(
      [report.killed_by_memory.lines[0]?.advice?.kind, report.killed_by_memory.lines[0]?.advice?.request],
      ['raise', 'h_vmem=6G'],
    );
  });

  it('asks for no less than any job of that name held, even one that is not listed', async () => {
    // 600 runs that hold little and one that holds nearly all: more than the list of one waster is made from.
    const small = { ...(ordinary.peak_rss ?? assert.fail()), lower_bytes: GIB };
    const large = { ...small, lower_bytes: 13 * GIB };
    const records = Array.from({ length: 600 }, (_, index) =>
      at(
        { ...ordinary, job_id: 1000 + index, peak_rss: small, peak_rss_swap: small, peak_process_vmem: small },
        5,
        600,
      ),
    );
    records.push(
      at({ ...ordinary, job_id: 9000, peak_rss: large, peak_rss_swap: large, peak_process_vmem: large }, 6, 60),
    );
    const { wasters, far_below: far } = await sampleReport({}, records);
    assert.deepEqual([wasters[0]?.jobs.lines[0]?.jobs, wasters[0]?.jobs.lines[0]?.advice], [601, null]);
    // No lower request would do, so none is advised.
    assert.deepEqual(far.lines, []);
  });

  it('states a risk with its advice where jobs of a name that were not read may have fewer slots', async () => {
    const GIB_1 = { ...(ordinary.peak_rss ?? assert.fail()), lower_bytes: GIB };
    const wide = { slots: 64, host_slots: 64, job_name: 'sweep', pe: 'smp' };
    const peaks = (bytes: number): Partial<typeof ordinary> => {
      const peak = { ...GIB_1, lower_bytes: bytes, upper_bytes: bytes };
      return { peak_rss: peak, peak_rss_swap: peak, peak_process_vmem: peak };
    };
    const limit = { request_bytes: 4 * GIB, limit_bytes: 256 * GIB, per: 'slot' } as const;
    const records = Array.from({ length: 600 }, (_, index) => {
      const own = index % 2 === 0;
      const job = { ...ordinary, ...wide, job_id: 2000 + index, h_vmem: limit, ...peaks(64 * GIB) };
      const narrow = { slots: 1, host_slots: 1, h_vmem: { ...limit, limit_bytes: 4 * GIB }, ...peaks(3 * GIB) };
      return at(own ? job : { ...job, ...narrow }, 5, 600);
    });
    const { wasters } = await sampleReport({}, records);
    const [line] = wasters[0]?.jobs.lines ?? [];
    // 64 GiB over 64 slots is 1 GiB a slot: too little for the jobs of one slot.
    assert.equal(line?.jobs, 600);
    assert.notEqual(line.advice?.risk, null);
  });

  it('tells silent hosts from sampled and idle ones', async () => {
    const records = sampleCluster();
    const gone: JobRecord = at({ ...ordinary, job_id: 5, host: 'node99' }, -50, 600);
    const report = await sampleReport({}, [...records, gone]);
    assert.deepEqual(
      report.silent_nodes.map(({ host, kind }) => [host, kind]),
      [
        ['node07', 'unsampled'],
        ['node09', 'lost'],
      ],
    );
    assert.deepEqual(report.hosts_without_jobs, ['node99']);
  });

  it('names the hosts whose last heartbeat shows a problem, if the report ends about now', async () => {
    const heartbeat = { ...statusOf('node01'), heartbeat_at: '2026-11-21T00:59:00.000Z', clock_offset_seconds: 0 };
    const source = { source: 'ipmi', reason: 'ipmitool took longer than 5 s' };
    const heartbeats: readonly NodeHeartbeat[] = [
      heartbeat,
      { ...heartbeat, host: 'node02', failing_sources: [source] },
      { ...heartbeat, host: 'node03', heartbeat_at: '2026-11-20T01:00:00.000Z' },
      { ...heartbeat, host: 'node04', cluster: 'other', listener: false },
    ];
    const reader = memoryReader(sampleCluster(), heartbeats);
    const report = await makeReport(reader, { ...QUESTION, cluster: 'cell' });
    assert.deepEqual(report.host_problems, [
      { cluster: 'cell', host: 'node03', state: 'critical', problems: ['no heartbeat for 1d 0h'] },
      { cluster: 'cell', host: 'node02', state: 'warning', problems: ['a source fails: ipmi'] },
    ]);
    const text = renderReport(report, testScreen()).join('\n');
    assert.match(
      text,
      /No job ended in this time\.\n\nHosts with problems\n +node03 {2}no heartbeat for 1d 0h\n +node02 {2}a source fails: ipmi$/,
    );
    assert.match(renderReportHtml(report), /Hosts with problems/);
    const later = new Date(QUESTION.until.getTime() + 2 * 86_400_000);
    assert.deepEqual((await makeReport(reader, { ...QUESTION, now: later })).host_problems, []);
  });

  it('counts every ended record in the coverage', async () => {
    const { coverage, site } = await sampleReport();
    assert.equal(coverage.records, site.records - site.running);
    assert.equal(coverage.sampled + coverage.reasons.reduce((sum, { records }) => sum + records, 0), coverage.records);
  });

  it('contains the jobs of one owner only, when asked for them', async () => {
    const asked: (string | undefined)[] = [];
    const whole = memoryReader(sampleCluster());
    const reader: ReportReader = {
      summary: (query) => (asked.push(query.owner), whole.summary(query)),
      records: (query) => (asked.push(query.owner), whole.records(query)),
      job: (query) => whole.job(query),
      nodes: () => assert.fail('hosts are no matter of one owner'),
    };
    const report = await makeReport(reader, { ...QUESTION, owner: 'tanaka', by: 'job_name' });
    assert.deepEqual([...new Set(asked)], ['tanaka']);
    assert.ok(!JSON.stringify(report).includes('ljensen'));
    assert.deepEqual([report.wasters.length, report.silent_nodes.length], [1, 0]);
  });

  it('keeps hostile names as they are, for the renderings to escape', async () => {
    const { groups } = await sampleReport();
    assert.ok(groups.some(({ name }) => name === HOSTILE.owner));
  });
});
