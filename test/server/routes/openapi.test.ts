import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewCluster } from '../../../src/live/view';
import { LiveState } from '../../../src/server/live/live-state';
import { ROUTES } from '../../../src/server/routes/routes';
import type { Schema } from '../../../src/base/shape';
import { AT, running, waiting, workedExample, answer, GIB } from '../../live/snapshots';
import { arrayOfTwenty, firstRun, killedAtLimit, ordinary } from '../../report/sample-records';
import { schemaFaults } from './matches-schema';
import { writeReport } from '../../../src/cli/nightly/report-files';
import { NOW, startTestSite } from '../test-site';
import { USUAL_RULES } from '../../../src/record/request-rules';
import { temporaryDirectory } from '../../support/temporary-directory';

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema?: Schema }>> }>>;
}

interface Description {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** A live state in which every field has a value: sampled jobs that grow, waiting jobs. */
function fullBoard(): LiveState {
  const records = [
    running(
      101,
      'node01',
      Array.from({ length: 50 }, (_, minute) => minute * 0.07 * GIB),
    ),
    running(103, 'node01', [GIB], { pe_task_id: '1.node01', owner: 'bob' }),
  ];
  const live = new LiveState({
    makeView: (given) => viewCluster(given, records, { rules: USUAL_RULES, nowMs: AT }),
    log: (line) => assert.fail(line),
    overdueMs: 600_000,
    now: () => NOW,
  });
  live.put({ ...workedExample(), pending: answer([waiting(200), waiting(201, { tasks: '1-9:1' })]) });
  return live;
}

const EXAMPLES: readonly string[] = [
  '/qhost',
  '/qstat',
  '/metrics',
  '/qstat.xml',
  '/qhost.xml?owner=bob',
  '/v1/live',
  '/v1/live?pending=1',
  '/v1/live?owner=alice&host=node01',
  '/v1/hosts',
  '/v1/hosts?queue=all.q',
  '/v1/at-risk',
  '/v1/at-risk?within=100h&share=0.01',
  '/v1/job/4711',
  '/v1/job/4711?all=true&at=2026-11-21',
  `/v1/job/${arrayOfTwenty[0]?.job_id ?? 0}`,
  `/v1/job/${arrayOfTwenty[0]?.job_id ?? 0}.3`,
  `/v1/array/${arrayOfTwenty[0]?.job_id ?? 0}`,
  `/v1/tasks/${arrayOfTwenty[0]?.job_id ?? 0}?fields=host,peak_rss&ids=${Array.from({ length: 99 }, (_none, id) => id).join()}`,
  '/v1/owner/bob?since=2026-11-01&until=2026-12-01&sort=peak&limit=5',
  '/v1/owner/nobody',
  '/v1/records?since=2026-11-01&until=2026-12-01&states=finished,lost&failed=false&peak_at_least=1e6&sort=unused&limit=5',
  '/v1/summary?since=2026-11-01&until=2026-12-01&by=project&sort=failed&limit=3',
  '/v1/summary?job_name=a*',
  '/v1/class?owner=bob&job_name=align_reads',
  '/v1/submission?owner=bob&job_name=align_reads&requests=h_vmem%3D4G&slots=4',
  '/v1/reports',
  '/v1/reports/2026-11-20',
  '/v1/running?since=0',
  '/v1/nodes?since=0',
  '/v1/health',
  '/v1/submission?owner=bob&job_name=sim&requests=h_vmem=4G',
  '/v1/openapi.json',
];

const PROBLEMS: readonly string[] = [
  '/v1/sign-in-link',
  '/v1/job/1',
  '/v1/job/x',
  '/v1/live?x=1',
  '/v1/owner/bob?since=1d&until=2d',
  '/v1/records?since=1d&until=2d',
  '/v1/records?next_time=true&limit=1001',
  '/v1/records?states=finished,done',
  '/v1/records?peak_at_least=-1',
  '/v1/class?owner=bob',
  '/v1/reports/2026-11-21',
  '/v1/reports/today',
  '/v1/summary?by=color',
  '/v1/summary?sort=toString',
];

function pathOf(example: string): string {
  const [path = ''] = example.split('?');
  return path
    .replace(/^(\/v1\/(job|owner)\/).*/, '$1{$2}')
    .replace(/^(\/v1\/(?:array|tasks)\/).*/, '$1{job}')
    .replace(/^(\/v1\/reports\/).*/, '$1{day}');
}

describe('the OpenAPI description', () => {
  it('names every route, and every answer matches its schema', async (t) => {
    const records = [
      ordinary,
      firstRun,
      killedAtLimit,
      ...arrayOfTwenty,
      { ...ordinary, job_id: 5, status: 'running' as const },
    ];
    const reports = temporaryDirectory();
    writeReport(reports, '2026-11-20', 0o600, { html: '<p>', json: '{}' });
    const site = await startTestSite(t, { records, live: fullBoard(), settings: { report_dir: reports } });
    const description = (await site.get('/v1/openapi.json')).json() as Description;
    const { schemas } = description.components;
    assert.equal(description.openapi, '3.1.0');
    assert.deepEqual(Object.keys(description.paths).toSorted(), ROUTES.map(({ path }) => path).toSorted());
    const asked = new Set<string>();
    for (const example of EXAMPLES) {
      const got = await site.get(example);
      assert.equal(got.status, 200, `${example}: ${got.text}`);
      const path = pathOf(example);
      asked.add(path);
      const content = description.paths[path]?.get.responses[200]?.content ?? {};
      const [[type, { schema }] = ['', {}]] = Object.entries(content);
      assert.equal(got.headers['content-type'], type);
      if (schema === undefined) continue;
      // The snapshot is for qmemacct itself: only its head is described.
      const faults = schemaFaults(got.json(), schema, schemas);
      assert.deepEqual(faults.slice(0, 5), [], example);
    }
    assert.deepEqual(
      [...Object.keys(description.paths)].filter((path) => !asked.has(path)),
      ['/v1/snapshot', '/v1/sign-in-link'],
    );
    for (const example of PROBLEMS) {
      const got = await site.get(example);
      const response = description.paths[pathOf(example)]?.get.responses[got.status];
      const schema = response?.content?.['application/problem+json']?.schema;
      assert.ok(schema, `${example}: ${got.status} is not described`);
      assert.deepEqual(schemaFaults(got.json(), schema, schemas), []);
    }
  });

  it('defines every schema it refers to, and every path parameter', async (t) => {
    const site = await startTestSite(t);
    const { text, json } = await site.get('/v1/openapi.json');
    const { paths, components } = json() as Description;
    const referred = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name = '']) => name));
    assert.deepEqual([...referred].toSorted(), Object.keys(components.schemas).toSorted());
    for (const [path, { get }] of Object.entries(paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const described = get.parameters.filter((parameter) => parameter.in === 'path');
      assert.deepEqual(
        described.map(({ name, required }) => [name, required]),
        inPath.map((name) => [name, true]),
      );
    }
    const ids = Object.values(paths).map(({ get }) => get.operationId);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(
      ids.every((id) => /^get[A-Z]\w*$/.test(id)),
      ids.join(),
    );
  });

  it('is tested on a live state with a trend, sampler figures and waiting jobs', () => {
    const view = fullBoard().current()?.view;
    assert.ok(view);
    assert.ok(view.jobs.some(({ trend }) => trend !== null));
    assert.ok(view.jobs.some(({ ours }) => ours !== null));
    assert.equal(view.pending?.length, 2);
  });
});
