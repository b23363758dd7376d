import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sumOfJob } from '../../src/accounting/job-sum';
import { memoryEfficiency } from '../../src/record/efficiency';
import { readMemoryComplexes, reservedConsumables, withoutValue } from '../../src/gridengine/memory-consumables';
import { enforcedRequest } from '../../src/record/request';
import { awaitFigures, burnerCommand, holds, mib, UNTIL_TOLD, withSite, wordFor, type Site } from './site';
import { tightScript } from './tight';

/** Complexes as Grid Engine has them by itself, those that the site adds, and what enforces each. */
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
  // Tasks on slave hosts have records of their own.
  'scope = "node"',
].join('\n');

async function judgedByWhatTheyRequest({ cell, product }: Site): Promise<void> {
  for (const name of ['mem_free', 'virtual_free', 'site_mem']) await cell.addMemoryComplex(name, 'YES', '100G');
  await cell.addMemoryComplex('job_mem', 'JOB', '100G');
  await cell.addMemoryComplex('idle_mem', 'YES');
  const complexes = await readMemoryComplexes((words) => cell.qconf([...words]));
  assert.deepEqual(reservedConsumables(complexes), ['job_mem', 'site_mem', 'mem_free', 'virtual_free']);
  assert.deepEqual(withoutValue(complexes), ['idle_mem']);
  await slaveHostsAreJudged({ cell, product });
  const word = wordFor(cell, 'gealice', 'each');
  const jobs = new Map<keyof typeof COMPLEXES, string>();
  for (const name of NAMES) {
    const script = burnerCommand('steady', `${name}.truth`, { mib: 60, hold: UNTIL_TOLD, until: word.path });
    jobs.set(name, await cell.submit('gealice', ['-N', name, '-pe', 'smp', '2', '-l', `${name}=300M`], script));
  }
  for (const job of jobs.values()) await awaitFigures(cell, job, holds(mib(60)));
  word.give();
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

/** With one accounting line for the whole job, which alone names the request. */
const ON_TWO_HOSTS = ['-N', 'two', '-pe', 'tight-summary', '4', '-l', 'mem_free=300M'] as const;

async function slaveHostsAreJudged({ cell, product }: Site): Promise<void> {
  const word = wordFor(cell, 'gealice', 'two');
  const steady = { burner: 'steady', options: { mib: 60, hold: UNTIL_TOLD, until: word.path } } as const;
  const script = tightScript('two', [
    { ...steady, on: 'master' },
    { ...steady, on: 'other' },
  ]);
  const job = await cell.submit('gealice', [...ON_TWO_HOSTS], script);
  await awaitFigures(cell, job, (figures) => figures.pe_task_id !== null && holds(mib(60))(figures), 2);
  word.give();
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

describe('requests by any complex', { timeout: 2_000_000 }, () => {
  it('are what jobs and their tasks on other hosts are judged by, per slot and once for the job', async (t) => {
    await withSite(t, { settings: SETTINGS, hVmem: { consumable: 'NO', default: '0' } }, judgedByWhatTheyRequest);
  });
});
