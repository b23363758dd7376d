import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sumOfJob } from '../../src/accounting/job-sum';
import { memoryEfficiency } from '../../src/record/efficiency';
import { readMemoryComplexes, reservedConsumables, withoutValue } from '../../src/gridengine/memory-consumables';
import { enforcedRequest } from '../../src/record/request';
import { awaitFigures, burnerCommand, holds, mib, LONGEST_HOLD_MS, withSite, gateFor, type Site } from './site';
import { tightScript } from './tight';

/** Grid Engine's own complexes and those that the site adds, with what enforces each. */
const COMPLEXES = {
  h_vmem: { per: 'slot', enforced_by: ['rlimit_as', 'execd'] },
  s_vmem: { per: 'slot', enforced_by: ['rlimit_as', 'execd'] },
  mem_free: { per: 'slot', enforced_by: [] },
  virtual_free: { per: 'slot', enforced_by: [] },
  site_mem: { per: 'slot', enforced_by: [] },
  job_mem: { per: 'job', enforced_by: [] },
} as const;

const NAMES = Object.keys(COMPLEXES) as readonly (keyof typeof COMPLEXES)[];

const SETTINGS = [
  `request_complex = ${JSON.stringify(NAMES)}`,
  'job_complexes = ["job_mem"]',
  'delivery_jitter_ms = 0',
  // For records of tasks on slave hosts.
  'scope = "node"',
].join('\n');

async function jobsAreJudgedByRequest({ cell, product }: Site): Promise<void> {
  for (const name of ['mem_free', 'virtual_free', 'site_mem']) await cell.addMemoryComplex(name, 'YES', '100G');
  await cell.addMemoryComplex('job_mem', 'JOB', '100G');
  await cell.addMemoryComplex('idle_mem', 'YES');
  const complexes = await readMemoryComplexes((words) => cell.qconf([...words]));
  assert.deepEqual(reservedConsumables(complexes), ['job_mem', 'site_mem', 'mem_free', 'virtual_free']);
  assert.deepEqual(withoutValue(complexes), ['idle_mem']);
  await slaveHostsAreJudged({ cell, product });
  const gate = gateFor(cell, 'gealice', 'each');
  const jobs = new Map<keyof typeof COMPLEXES, string>();
  for (const name of NAMES) {
    const script = burnerCommand('steady', `${name}.truth`, { mib: 60, hold: LONGEST_HOLD_MS, until: gate.path });
    jobs.set(name, await cell.submit('gealice', ['-N', name, '-pe', 'smp', '2', '-l', `${name}=300M`], script));
  }
  for (const job of jobs.values()) await awaitFigures(cell, job, holds(mib(60)));
  gate.open();
  for (const job of jobs.values()) {
    await cell.waitFinished(job);
    await product.record(job);
  }
  const imported = await product.run('ge1', 'import');
  assert.equal(imported.status, 0, imported.stderr);
  for (const [name, job] of jobs) {
    const record = await product.record(job);
    const { per, enforced_by } = COMPLEXES[name];
    assert.deepEqual(
      enforcedRequest(record),
      {
        complex: name,
        request_bytes: mib(300),
        limit_bytes: mib(per === 'job' ? 300 : 600),
        per,
        enforced_by,
      },
      `${name}: ${JSON.stringify([record.h_vmem, record.requests, record.request_order, record.grid_engine])}`,
    );
    assert.ok((memoryEfficiency(record) ?? 0) > 0.09, `${name}: ${memoryEfficiency(record)}`);
    const { stdout } = await product.run('ge1', 'job', job, '--full');
    assert.match(stdout, new RegExp(`of ${name}\\b`), stdout);
    assert.match(stdout, new RegExp(`Requested +${name} `), stdout);
  }
  const { stdout: list } = await product.run('ge1', 'jobs', '--owner', 'gealice', '--columns', 'job,request,limit');
  for (const name of NAMES.slice(1)) assert.match(list, new RegExp(`${name} 300 MiB`), list);
}

/** A job with one accounting line in all, the only place that has its request. */
const ON_TWO_HOSTS = ['-N', 'two', '-pe', 'tight-summary', '4', '-l', 'mem_free=300M'] as const;

async function slaveHostsAreJudged({ cell, product }: Site): Promise<void> {
  const gate = gateFor(cell, 'gealice', 'two');
  const steady = { burner: 'steady', options: { mib: 60, hold: LONGEST_HOLD_MS, until: gate.path } } as const;
  const script = tightScript('two', [
    { ...steady, on: 'master' },
    { ...steady, on: 'other' },
  ]);
  const job = await cell.submit('gealice', [...ON_TWO_HOSTS], script);
  await awaitFigures(cell, job, (figures) => figures.pe_task_id !== null && holds(mib(60))(figures), 2);
  gate.open();
  await cell.waitFinished(job);
  await product.records(job, 3);
  const imported = await product.run('ge1', 'import');
  assert.equal(imported.status, 0, imported.stderr);
  const records = (await product.records(job, 3)).map(({ record }) => record);
  for (const record of records)
    assert.deepEqual(
      record.requests.mem_free,
      { request_bytes: mib(300), limit_bytes: mib(300) * (record.host_slots ?? 0), per: 'slot' },
      `${record.pe_task_id ?? 'master'} on ${record.host}: ${JSON.stringify(record.requests)}`,
    );
  const [first, ...others] = records;
  assert.ok(first !== undefined);
  const sum = sumOfJob([first, ...others], 1);
  assert.equal(sum.limit_bytes, mib(4 * 300));
  for (const { host, slots, limit_bytes, memory_efficiency } of sum.hosts) {
    assert.equal(limit_bytes, mib(300) * (slots ?? 0), host);
    assert.ok((memory_efficiency ?? 0) > 0.09, `${host}: ${memory_efficiency}`);
  }
}

describe('jobs that request memory by other complexes, on a real Grid Engine', { timeout: 2_000_000 }, () => {
  it('are judged by these requests on each of their hosts, per slot or per job', async (t) => {
    await withSite(t, { settings: SETTINGS, hVmem: { consumable: 'NO', default: '0' } }, jobsAreJudgedByRequest);
  });
});
