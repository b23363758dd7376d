import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HistoryStore } from '../../../src/accounting/history-store';
import type { PlacedLine } from '../../../src/accounting/import/line-place';
import { recordOfLine } from '../../../src/accounting/import/line-record';
import type { JobRecord } from '../../../src/record/record';
import { RequestRules } from '../../../src/record/request-rules';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { tableLines } from '../import/table-lines';
import { DAY, FILE, GIB, HOUR, iso, job, ofJob, T0, type OpenStore } from './fixture';

/** What samplers see of a parallel job that requests mem_free: the spool directory has no limit on any host. */
const SEEN = { pe: 'mpi', queue: 'all.q', h_vmem: null, requests: {} } as const;

const master = (fields: Partial<JobRecord> = {}): JobRecord =>
  job(1, T0, { ...SEEN, started_at: iso(T0 - HOUR), slots: 5, host_slots: 2, ...fields });

const taskOn = (host: string, slots: number, fields: Partial<JobRecord> = {}): JobRecord =>
  job(1, T0, {
    ...SEEN,
    pe_task_id: `1.${host}`,
    host,
    run_id: `${host}.1`,
    host_slots: slots,
    submitted_at: null,
    started_at: iso(T0 - HOUR + 2000),
    ...fields,
  });

const RULES = new RequestRules({ ...DEFAULT_SETTINGS, job_complexes: ['job_mem'] });

const placedLine = (category: string): PlacedLine => ({
  jobId: 1,
  task: 0,
  peTaskId: null,
  slots: 5,
  host: 'node1',
  owner: 'bob',
  jobName: 'solve',
  account: 'sge',
  queue: 'all.q',
  project: null,
  pe: 'mpi',
  submissionTimeMs: T0 - 2 * HOUR,
  startTimeMs: T0 - HOUR,
  endTimeMs: T0,
  failed: 0,
  exitStatus: 0,
  submitCommand: null,
  deletedBy: null,
  category,
  wallclockSeconds: 3600,
  cpuSeconds: 3600,
  userSeconds: 3600,
  systemSeconds: 0,
  memGibSeconds: 1,
  ioGib: 0,
  maxvmemBytes: GIB,
  maxrssBytes: 0,
  jobMaxrssBytes: null,
});

const lineWith = (category: string): JobRecord => recordOfLine(placedLine(category), { cluster: 'cell', rules: RULES });

async function requestsOf(store: HistoryStore, id = 1): Promise<Readonly<Record<string, JobRecord['requests']>>> {
  const { records } = await store.job({ job_id: id, all: true });
  return Object.fromEntries(records.map(({ record }) => [record.pe_task_id ?? 'master', record.requests]));
}

async function requestedGibHours(store: HistoryStore, id = 1): Promise<number> {
  return (await store.records({ since: T0 - DAY, until: T0 + DAY, job_id: id })).totals.requested_gib_hours;
}

const perSlot = (slots: number) => ({ request_bytes: GIB, limit_bytes: slots * GIB, per: 'slot' });

/** The requests of the slave tasks of a parallel job, the same in every store. */
export function taskRequestsSuite(open: OpenStore): void {
  describe('a slave task', () => {
    it('gets the requests per slot from the accounting line of its master, whichever comes first', async (t) => {
      const parts = [master(), taskOn('node2', 3), lineWith('-l mem_free=1G,job_mem=6G -pe mpi 5')] as const;
      const [ours, task, line] = parts;
      const store = await open(t);
      for (const [index, given] of [
        [ours, task, line],
        [line, ours, task],
        [task, line, ours],
        [line, task, ours],
      ].entries()) {
        const id = index + 1;
        const order = ofJob(id, given);
        for (const record of order) await store.merge([record]);
        const byTask = await requestsOf(store, id);
        assert.deepEqual(byTask['1.node2'], { mem_free: perSlot(3) });
        assert.deepEqual(byTask.master?.mem_free, perSlot(2));
        assert.equal(await requestedGibHours(store, id), 5);
        for (const outcome of await store.merge(order)) assert.deepEqual(outcome, { ok: true, change: 'unchanged' });
        await store.merge(ofJob(id, [{ ...task, revision: task.revision + 1, cpu_seconds: 1900 }]));
        assert.deepEqual((await requestsOf(store, id))['1.node2'], { mem_free: perSlot(3) });
      }
    });

    it("gets no request for the master's slot only, or for slave slots only", async (t) => {
      const scoped = '-scope master -hard -l mem_free=64G -scope slave -hard -l s_vmem=2G -pe mpi 5';
      const parts = [master(), taskOn('node2', 3), lineWith(scoped)];
      const store = await open(t);
      for (const [index, order] of [parts, parts.toReversed()].entries()) {
        const id = index + 1;
        for (const record of ofJob(id, order)) await store.merge([record]);
        assert.deepEqual(await requestsOf(store, id), { master: {}, '1.node2': {} });
        assert.equal(await requestedGibHours(store, id), 0);
      }
    });

    it('is stored even if its job requests more than any host has', async (t) => {
      const store = await open(t);
      await store.merge([master(), taskOn('node2', 512), lineWith('-l mem_free=7000T -pe mpi 5')]);
      const byTask = await requestsOf(store);
      assert.equal(byTask['1.node2']?.mem_free?.limit_bytes, Number.MAX_SAFE_INTEGER);
      assert.equal(byTask.master?.mem_free?.limit_bytes, Number.MAX_SAFE_INTEGER);
    });

    it('names the accounting line as source of the request, whichever comes first', async (t) => {
      const own = { mem_free: { request_bytes: 1, limit_bytes: 3, per: 'slot' } } as const;
      const task = taskOn('node2', 3, { trust: 'self-reported', requests: own });
      const parts = [master(), lineWith('-l mem_free=1G -pe mpi 5'), task, { ...task, revision: task.revision + 1 }];
      const store = await open(t);
      const orders = [parts, parts.toReversed(), [...parts.slice(2), ...parts.slice(0, 2)]];
      for (const [index, order] of orders.entries()) {
        const id = index + 1;
        for (const record of ofJob(id, order)) await store.merge([record]);
        const { records } = await store.job({ job_id: id, all: true });
        const found = records.find(({ record }) => record.pe_task_id === '1.node2');
        assert.deepEqual(found?.record.requests, { mem_free: perSlot(3) });
        const stamp = { trust: 'accounting', revision: 0, ended: false };
        assert.deepEqual(found.provenance, { 'requests.mem_free': stamp });
      }
    });

    it('gets the request from an imported line, and so do the sums', async (t) => {
      const store = await open(t);
      await store.merge([master(), taskOn('node2', 3)]);
      assert.equal(await requestedGibHours(store), 0);
      const lines = tableLines([placedLine('-l mem_free=1G -pe mpi 5')]);
      const { joined } = await store.importLines({ file: FILE, before: null, lines, unreadable: [], rules: RULES });
      assert.equal(joined, 1);
      assert.deepEqual((await requestsOf(store))['1.node2'], { mem_free: perSlot(3) });
      assert.equal(await requestedGibHours(store), 5);
    });

    it('keeps the request of its own spool directory, and gets none in another run of the job', async (t) => {
      const store = await open(t);
      const own = { s_vmem: { request_bytes: 2 * GIB, limit_bytes: 6 * GIB, per: 'slot' } } as const;
      const earlier = taskOn('node3', 1, { started_at: iso(T0 - 3 * HOUR), ended_at: iso(T0 - 2.5 * HOUR) });
      await store.merge([taskOn('node2', 3, { requests: own }), earlier, master()]);
      await store.merge([lineWith('-l mem_free=1G,s_vmem=1G -pe mpi 5')]);
      const byTask = await requestsOf(store);
      assert.deepEqual(byTask['1.node2'], { ...own, mem_free: perSlot(3) });
      assert.deepEqual(byTask['1.node3'], {});
    });

    it('gets no request from a self-reported record of the master', async (t) => {
      const store = await open(t);
      const claimed = { mem_free: { request_bytes: 1, limit_bytes: 2, per: 'slot' } } as const;
      await store.merge([taskOn('node2', 3), master({ trust: 'self-reported', requests: claimed })]);
      assert.deepEqual((await requestsOf(store))['1.node2'], {});
    });

    it('does not count a request per job again', async (t) => {
      const store = await open(t);
      const once = { h_vmem: { request_bytes: 6 * GIB, limit_bytes: 6 * GIB, per: 'job' } } as const;
      await store.merge([master(once), taskOn('node2', 3, once)]);
      assert.equal(await requestedGibHours(store), 6);
    });

    it('counts a request per host on its own host', async (t) => {
      const store = await open(t);
      const requests = { mem_free: { request_bytes: 6 * GIB, limit_bytes: 6 * GIB, per: 'host' } } as const;
      await store.merge([master({ requests }), taskOn('node2', 3)]);
      assert.deepEqual((await requestsOf(store))['1.node2'], requests);
      assert.equal(await requestedGibHours(store), 12);
    });
  });
}
