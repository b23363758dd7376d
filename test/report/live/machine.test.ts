import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderHostsCsv, renderJobsCsv } from '../../../src/report/live/csv';
import { renderHostsJson, renderJobsJson } from '../../../src/report/live/json';
import { HOSTILE_NAME, HOSTILE_OWNER } from '../../live/snapshots';
import { oneJob, sampleView, trendIn } from './sample-view';

const view = sampleView({ problems: ['qmaster is down \u0007'] });
const jobs = { view, jobs: view.jobs, pending: view.pending };
const hosts = { view, hosts: view.hosts, details: false };

type Fields = Readonly<Record<string, unknown>>;
const parse = (text: string): Fields => JSON.parse(text) as Fields;
const list = (fields: Fields, name: string): readonly Fields[] => fields[name] as readonly Fields[];

describe('jobs as JSON', () => {
  const text = renderJobsJson(jobs);
  const answer = parse(text);

  it('has schema, time and problems, and one job per line', () => {
    assert.deepEqual(
      [answer.schema, answer.cluster, answer.at, answer.problems],
      [1, 'default', '2026-11-20T12:00:00.000Z', ['qmaster is down \u0007']],
    );
    assert.deepEqual([list(answer, 'jobs').length, list(answer, 'pending').length], [12, 2]);
    assert.equal(text.split('\n').filter((line) => line.startsWith('{"job_id":')).length, 14);
    assert.equal(parse(renderJobsJson({ ...jobs, pending: null })).pending, null);
    assert.deepEqual(parse(renderJobsJson({ ...jobs, jobs: [] })).jobs, []);
  });

  it('has the documented fields in their order', () => {
    const job = list(answer, 'jobs').find(({ job_id: id }) => id === 101);
    assert.ok(job !== undefined);
    assert.deepEqual(Object.keys(job), [
      'job_id',
      'task_id',
      'job_name',
      'owner',
      'uid',
      'project',
      'state',
      'queue',
      'pe',
      'slots',
      'started_at',
      'submitted_at',
      'requests',
      'limit_bytes',
      'limit_complex',
      'limit_state',
      'time_limit_seconds',
      'vmem_bytes',
      'maxvmem_bytes',
      'measure',
      'cpu_seconds',
      'rss_bytes',
      'peak_lower_bytes',
      'peak_upper_bytes',
      'figures_at',
      'share',
      'trend',
      'hosts',
    ]);
    assert.equal(job.started_at, '2026-11-20T11:00:00.000Z');
    assert.deepEqual(Object.keys(job.trend as Fields), [
      'slope_bytes_per_second',
      'over_seconds',
      'limit_at',
      'earliest',
      'latest',
      'confidence',
    ]);
  });

  it('keeps hostile names, and prints no raw control character', () => {
    const hostile = list(answer, 'jobs').find(({ job_id: id }) => id === 107);
    assert.deepEqual([hostile?.job_name, hostile?.owner], [HOSTILE_NAME, HOSTILE_OWNER]);
    assert.doesNotMatch(text.replaceAll('\n', ''), /\p{C}/u);
  });

  it('has null for times beyond any calendar', () => {
    const far = { ...trendIn(0), limitAt: 1e300, earliest: Infinity, latest: NaN };
    const [job] = list(parse(renderJobsJson({ ...jobs, jobs: [oneJob(1, { trend: far })] })), 'jobs');
    const { limit_at: at, earliest, latest } = job?.trend as Fields;
    assert.deepEqual([at, earliest, latest], [null, null, null]);
  });
});

describe('hosts as JSON', () => {
  it('has hosts with their jobs, and totals', () => {
    const answer = parse(renderHostsJson(hosts));
    assert.equal(answer.schema, 1);
    const first = list(answer, 'hosts')[0];
    assert.ok(first !== undefined);
    assert.deepEqual([first.host, first.up, list(first, 'jobs').length], ['node01', true, 5]);
    assert.deepEqual(Object.keys(answer.totals as Fields), [
      'hosts',
      'hosts_down',
      'peak_bytes',
      'used_bytes',
      'requested_bytes',
      'total_bytes',
      'free_bytes',
      'slots',
      'slots_used',
      'stranded_bytes',
      'stranded_slots',
    ]);
  });
});

/** Readers may find columns by position, so new columns are added at the end. */
const JOB_HEAD = [
  'job_id,task_id,job_name,owner,project,state,queue,hosts,pe,slots,started_at,submitted_at',
  'requests,limit_bytes,limit_state,vmem_bytes,maxvmem_bytes,measure,cpu_seconds,rss_bytes',
  'peak_lower_bytes,peak_upper_bytes,figures_at,share,slope_bytes_per_second,limit_at',
  'limit_at_earliest,limit_at_latest,confidence,limit_complex',
];
const HOST_HEAD = [
  'host,up,processors,load,memory_total_bytes,memory_used_bytes,swap_total_bytes,swap_used_bytes',
  'slots,slots_used,capacity_bytes,free_bytes,requested_bytes,peak_bytes,used_bytes',
  'jobs_without_limit,stranded_bytes,stranded_slots,queue_states,capacity_complex',
];
const PART_HEAD = [
  'host,job_id,task_id,owner,job_name,master,slots,limit_bytes,limit_state,reserved_bytes',
  'peak_bytes,used_bytes,vmem_bytes,maxvmem_bytes,master_vmem_bytes,master_maxvmem_bytes,tasks',
  'ended_tasks_maxvmem_bytes,rss_bytes,peak_lower_bytes,peak_upper_bytes,figures_at',
];

describe('CSV', () => {
  const rows = (text: string): readonly string[] => text.trimEnd().split('\n');

  it('has one line per running or waiting job, safe for a spreadsheet', () => {
    const [head, ...lines] = rows(renderJobsCsv(jobs));
    assert.equal(head, JOB_HEAD.join());
    assert.equal(lines.length, 14);
    const hostile = lines.find((line) => line.startsWith('107,'));
    assert.match(hostile ?? '', /^107,,"'=cmd\|/);
    assert.ok(lines.some((line) => line.startsWith('103,,mpi,bob,,r,all.q,node01 node02,mpi,4,')));
    assert.ok(lines.some((line) => line.startsWith('201,1-100:1,')));
    assert.doesNotMatch(lines.join(''), /\p{C}/u);
  });

  it('has one line per host, or per job on a host', () => {
    const plain = rows(renderHostsCsv(hosts));
    assert.equal(plain.length, 5);
    assert.equal(plain[0], HOST_HEAD.join());
    assert.match(plain[3] ?? '', /^node03,false,.*,all\.q=au,h_vmem$/);
    const detailed = rows(renderHostsCsv({ ...hosts, details: true }));
    assert.equal(detailed[0], PART_HEAD.join());
    assert.ok(
      detailed.some((line) => /^node02,103,,bob,mpi,false,2,.*1\.node02=805306368 2\.node02=536870912/.test(line)),
    );
    const widths = new Set(
      [plain, detailed].map((all) => all.map((line) => line.split(',').length)).map((all) => all[0]),
    );
    assert.equal(widths.size, 2);
  });
});
