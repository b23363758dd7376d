import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { HistoryStore, ImportBatch, ImportedFile } from '../../../src/accounting/history-store';
import type { PlacedLine } from '../../../src/accounting/import/line-place';
import { recordOfLine } from '../../../src/accounting/import/line-record';
import { recordKeyText, type JobRecord, type Trust } from '../../../src/record/record';
import { arbitraryRecord } from '../arbitrary-record';
import { arbitraryLine } from '../import/arbitrary-line';
import { tableLines } from '../import/table-lines';
import { realisticRecords } from '../realistic-record';
import { FILE, type OpenStore } from './fixture';

function batchOf(lines: readonly PlacedLine[], more: Partial<ImportBatch> = {}): ImportBatch {
  return { file: FILE, before: null, lines: tableLines(lines), unreadable: [], ...more };
}

/** The records of these jobs in the store, sorted by key. */
async function contents(store: HistoryStore, jobs: Iterable<number>): Promise<readonly unknown[]> {
  const found: (readonly [string, unknown])[] = [];
  for (const job of new Set(jobs))
    for (const { record, ended, provenance } of (await store.job({ job_id: job, all: true })).records)
      found.push([recordKeyText(record), { record, ended, provenance }]);
  return found.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Merges the records of the lines, as the records of samplers are merged. */
async function mergeLines(store: HistoryStore, lines: readonly PlacedLine[]): Promise<void> {
  const records = lines.map((line) => recordOfLine(line, { cluster: 'cell' }));
  for (const outcome of await store.merge(records)) assert.equal(outcome.ok, true);
}

/** Random runs share a store; each has job numbers of its own. */
const JOBS_PER_RUN = 100_000;

const START = 1_763_700_000_000;
const mostly = fc.constantFrom(true, true, true, false);

/** A record of ours and an accounting line that mostly joins it, both of job 1. */
const meeting = fc
  .record({
    any: arbitraryRecord(),
    trust: fc.constantFrom<Trust[]>('root', 'root', 'usage', 'self-reported'),
    isComplete: mostly,
    hasEnded: mostly,
    host: fc.constantFrom('ge1', 'ge1', 'ge1.example'),
    line: arbitraryLine(1),
    isUsual: mostly,
  })
  .map(({ any, trust, isComplete, hasEnded, host, line, isUsual }) => {
    const started_at = new Date(START + 300).toISOString();
    // All on one day, since each day is rolled up.
    const ended_at = new Date(START + 60_700).toISOString();
    const record: JobRecord = {
      ...any,
      ended_at: any.ended_at && ended_at,
    };
    const complete: Partial<JobRecord> = {
      job_name: 'a',
      queue: 'q',
      account: 'sge',
      slots: 1,
      host_slots: 1,
      submitted_at: started_at,
      grid_engine: null,
      h_vmem: record.h_vmem ?? { request_bytes: 1, limit_bytes: 1, per: 'slot' },
      project: record.project ?? 'p',
      wallclock_seconds: record.wallclock_seconds ?? 0.1,
      cpu_seconds: record.cpu_seconds ?? 2.0004,
      ended_at,
    };
    const key = { job_id: 1, task_id: null, pe_task_id: null, cluster: 'cell', host, run_id: '0badcafe.4711.1' };
    const ours: JobRecord = {
      ...record,
      ...key,
      ...{ owner: 'alice', started_at, exit_status: 0, signal: 0, trust },
      ...(isComplete ? complete : {}),
      status: hasEnded ? 'finished' : record.status,
    };
    const usual = { failed: 0, exitStatus: 0, pe: null, submissionTimeMs: START - 5000 };
    const times = { startTimeMs: START, endTimeMs: START + 60_000 };
    const joining = {
      ...line,
      ...times,
      task: 0,
      peTaskId: null,
      host: 'ge1',
      owner: 'alice',
      ...(isUsual ? usual : {}),
    };
    return [ours, joining] as const;
  });

/** JSON with rounded numbers: sums of fractions depend on the order of addition. */
const rounded = (value: unknown): string =>
  JSON.stringify(value, (_name, part: unknown) => (typeof part === 'number' ? part.toPrecision(9) : part));

const sumsOf = async (store: HistoryStore): Promise<string> =>
  rounded(await store.summary({ since: 0, until: 4e12, by: 'owner' }));

/** Imports of accounting lines, the same in every store. `share`: the part of the usual random runs. */
export function importSuite(open: OpenStore, share = 1): void {
  describe('importLines', () => {
    it('stores the same records as merging them', async (t) => {
      const imported = await open(t);
      const merged = await open(t);
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(arbitraryLine(JOBS_PER_RUN), { maxLength: 60 }), async (given) => {
          const run = runs++;
          const lines = given.map((line) => ({ ...line, jobId: line.jobId + run * JOBS_PER_RUN }));
          const file = { ...FILE, head: `run ${run}` };
          const { added, joined, unchanged } = await imported.importLines(batchOf(lines, { file }));
          assert.equal(added + joined + unchanged, lines.length);
          await mergeLines(merged, lines);
          const jobs = lines.map(({ jobId }) => jobId);
          assert.deepEqual(await contents(imported, jobs), await contents(merged, jobs));
        }),
        { numRuns: Math.ceil(10 * share) },
      );
      const [own, other] = await Promise.all([imported, merged].map(sumsOf));
      assert.equal(own, other);
    });

    it('joins lines with each other and with records of samplers as merging does, in batches of any size', async (t) => {
      const seen = { ...realisticRecords(5).next(), cluster: 'cell', task_id: null, pe_task_id: null, host: 'ge1' };
      const ours = fc
        .record({
          job_id: fc.integer({ min: 1, max: 3 }),
          at: fc.nat({ max: 12 }),
          boot: fc.nat({ max: 3 }),
          lost: fc.boolean(),
        })
        .map(({ job_id, at, boot, lost }): JobRecord => {
          const started = new Date(1_763_700_000_200 + at * 500).toISOString();
          const status = lost ? 'lost' : seen.status;
          return { ...seen, job_id, status, owner: 'alice', started_at: started, run_id: `0000000${boot}.1.${at}` };
        });
      const imported = await open(t);
      const merged = await open(t);
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.oneof(arbitraryLine(3), arbitraryLine(3), ours), { maxLength: 40 }),
          fc.integer({ min: 1, max: 12 }),
          async (given, size) => {
            const run = runs++;
            const jobs = [1, 2, 3].map((id) => 3 * run + id);
            const items = given.map((item) =>
              'run_id' in item ? { ...item, job_id: item.job_id + 3 * run } : { ...item, jobId: item.jobId + 3 * run },
            );
            let before: ImportedFile | null = null;
            let waiting: PlacedLine[] = [];
            const flush = async (): Promise<void> => {
              const file: ImportedFile = { ...FILE, head: `run ${run}`, offset: (before?.offset ?? 0) + 1 };
              assert.equal((await imported.importLines(batchOf(waiting, { file, before }))).conflict, false);
              before = file;
              waiting = [];
            };
            for (const item of items)
              if ('run_id' in item) {
                await flush();
                await imported.merge([item]);
              } else if (waiting.push(item) === size) await flush();
            await flush();
            const lines: PlacedLine[] = [];
            for (const item of items)
              if ('run_id' in item) {
                await mergeLines(merged, lines.splice(0));
                await merged.merge([item]);
              } else lines.push(item);
            await mergeLines(merged, lines);
            assert.deepEqual(await contents(imported, jobs), await contents(merged, jobs));
          },
        ),
        { numRuns: Math.ceil(12 * share) },
      );
    });

    it('writes the same into records of ours as merging does, and the sums follow', async (t) => {
      await fc.assert(
        fc.asyncProperty(fc.array(meeting, { minLength: 60, maxLength: 60 }), async (pairs) => {
          const imported = await open(t);
          const merged = await open(t);
          const records = pairs.map(([record], index) => ({ ...record, job_id: 1 + index }));
          const lines = pairs.map(([, line], index) => ({ ...line, jobId: 1 + index }));
          for (const store of [imported, merged]) {
            for (const { ok } of await store.merge(records)) assert.ok(ok);
            await store.rollUp({});
          }
          assert.equal((await imported.importLines(batchOf(lines))).added, 0);
          await mergeLines(merged, lines);
          const jobs = lines.map(({ jobId }) => jobId);
          assert.deepEqual(await contents(imported, jobs), await contents(merged, jobs));
          const sums = [imported, merged].map(async (store) => {
            await store.rollUp({});
            return sumsOf(store);
          });
          const [ofImported, ofMerged] = await Promise.all(sums);
          assert.deepEqual(ofImported, ofMerged);
          await imported.close();
          await merged.close();
        }),
        { numRuns: Math.ceil(3 * share), endOnFailure: true },
      );
    });

    it('recognises the line of a job that never started by its place, in whichever file', async (t) => {
      const store = await open(t);
      const [usual] = fc.sample(arbitraryLine(), { numRuns: 1, seed: 3 });
      assert.ok(usual !== undefined);
      const never = { ...usual, jobId: 5, startTimeMs: null, endTimeMs: null, failed: 26 };
      const [first, again] = ['a.0', 'a.1'].map((place) => ({ ...never, place }));
      assert.ok(first !== undefined && again !== undefined);
      const { added } = await store.importLines(batchOf([first, again]));
      assert.equal(added, 2);
      const copy = { ...FILE, head: 'another' };
      const known = await store.importLines({ ...batchOf([first, again]), file: copy });
      assert.deepEqual(known, { added: 0, joined: 0, unchanged: 2, conflict: false });
      const { added: third } = await store.importLines(
        batchOf([{ ...never, place: 'b.0' }], { file: { ...FILE, head: 'c' } }),
      );
      assert.deepEqual([third, (await store.job({ job_id: 5, all: true })).records.length], [1, 3]);
      await store.close();
    });

    it('reports a conflict and changes nothing if another importer was faster', async (t) => {
      const store = await open(t);
      const [line] = fc.sample(arbitraryLine(), 1);
      assert.ok(line !== undefined);
      const first = await store.importLines(batchOf([line]));
      assert.deepEqual(first, { added: 1, joined: 0, unchanged: 0, conflict: false });
      assert.deepEqual(await store.importedFiles(), [FILE]);
      const again = await store.importLines(batchOf([line]));
      assert.deepEqual(again, { added: 0, joined: 0, unchanged: 0, conflict: true });
      const longer: ImportedFile = { ...FILE, offset: 6000, lines: 11 };
      assert.equal((await store.importLines({ ...batchOf([]), file: longer, before: FILE })).conflict, false);
      assert.equal((await store.importLines({ ...batchOf([]), file: longer, before: FILE })).conflict, true);
      assert.deepEqual(await store.importedFiles(), [longer]);
      await store.close();
    });

    it('keeps the newest unreadable lines with their place, newest last', async (t) => {
      const store = await open(t);
      const unreadable = [1, 2, 3].map((offset) => ({ offset, reason: 'too few fields', text: `a:\u00ff:${offset}` }));
      await store.importLines({ ...batchOf([]), unreadable });
      const kept = await store.unreadableLines('cell', 2);
      assert.deepEqual(
        kept.map(({ path, offset, reason, text }) => [path, offset, reason, text]),
        [2, 3].map((offset) => [FILE.path, offset, 'too few fields', `a:\u00ff:${offset}`]),
      );
      assert.deepEqual(await store.unreadableLines('other', 9), []);
    });

    it('marks the days of its lines to be rolled up again', async (t) => {
      const store = await open(t);
      const lines = fc.sample(arbitraryLine(), { numRuns: 20, seed: 7 });
      const since = 0;
      const read = async (): Promise<readonly number[]> => {
        const { read: one, totals } = await store.summary({ since, until: 4e12, by: 'owner' });
        return [one, totals.records];
      };
      const { added } = await store.importLines(batchOf(lines));
      assert.deepEqual(await read(), [added, added]);
      await store.rollUp({});
      assert.deepEqual(await read(), [0, added]);
    });
  });
}
