import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { openSqliteReader, openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import type { AccountingReader } from '../../../src/accounting/store';
import { readTasks } from '../../../src/accounting/tasks';
import { arrayFields, arrayLines } from '../../../src/cli/job/array-screen';
import { findJob } from '../../../src/cli/job/find-job';
import { findDistinct, historyOf } from '../../../src/cli/records/find';
import type { JobRecord } from '../../../src/record/record';
import { loadSettings } from '../../../src/record/settings';
import { renderJob } from '../../../src/report/job/job';
import { recordsOf, type JobViewOptions } from '../../../src/report/job/job-run';
import { kindsNear } from '../../../src/report/rules/kinds';
import { loadRules } from '../../../src/report/rules/rule-set';
import { temporaryStore } from '../../accounting/temporary-store';
import { BAD_ENDS, modest, tenMinutesOf } from '../../report/bad-ends';
import {
  killedAtLimit,
  lost,
  ordinary,
  reserving,
  reservingOnly,
  running,
  unsampled,
  wellWatched,
} from '../../report/sample-records';
import { testScreen } from '../../report/screens';

const JOB = 9200;
const GIB = 1024 ** 3;
const ends: readonly JobRecord[] = Object.values(BAD_ENDS);
const KINDS = [
  ...[ordinary, modest, killedAtLimit, reserving, reservingOnly, running, unsampled, lost, wellWatched],
  ...ends,
].filter(({ granted_hosts: hosts, pe_task_id: task }) => task === null && (hosts?.length ?? 0) <= 1);

const later = (time: string | null, seconds: number): string | null =>
  time === null ? null : new Date(Date.parse(time) + seconds * 1000).toISOString();

/** A run of a task: one of the kinds with another size, host and time. */
const runs = fc.record({
  task: fc.integer({ min: 1, max: 60 }),
  kind: fc.integer({ min: 0, max: KINDS.length - 1 }),
  size: fc.constantFrom(0.1, 0.5, 1, 1, 1, 3),
  host: fc.integer({ min: 1, max: 3 }),
  free: fc.boolean(),
  line: fc.boolean(),
  after: fc.integer({ min: 0, max: 5000 }),
});

type Run = typeof runs extends fc.Arbitrary<infer Value> ? Value : never;

function recordOf({ task, kind, size, host, free, line, after }: Run, index: number): JobRecord {
  const like = KINDS[kind] ?? ordinary;
  const { peak_rss: rss, peak_process_vmem: space } = like;
  const grown = (bytes: number): number => Math.round(bytes * size);
  return {
    ...like,
    // Series are not read for many records at once.
    series: null,
    job_id: JOB,
    task_id: task,
    run_id: `${index}.${task}.1`,
    host: `node0${host}`,
    owner: 'bob',
    job_name: 'sweep.sh',
    submitted_at: ordinary.submitted_at,
    started_at: later(like.started_at, after),
    ended_at: later(like.ended_at, after),
    peak_rss: rss && {
      ...rss,
      lower_bytes: grown(rss.lower_bytes),
      upper_bytes: rss.upper_bytes && grown(rss.upper_bytes),
    },
    peak_process_vmem: space && {
      ...space,
      lower_bytes: grown(space.lower_bytes),
      upper_bytes: space.upper_bytes && grown(space.upper_bytes),
    },
    ...(free ? { requests: { mem_free: { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'slot' } } } : {}),
    ...(line && like.grid_engine === null ? { grid_engine: tenMinutesOf({ maxvmem_bytes: grown(GIB) }) } : {}),
  };
}

const VIEWS: readonly JobViewOptions[] = [
  { allTasks: false },
  { allTasks: false, detail: 'full' },
  { allTasks: true },
  { allTasks: false, tasks: { worst: 5 } },
  { allTasks: false, tasks: { failed: true, limit: 10 } },
];
const screen = testScreen();

/** The screen by a few facts of each task; null: the store offers no such facts. */
async function byFacts(reader: AccountingReader, view: JobViewOptions): Promise<readonly string[] | null> {
  const rules = await loadRules('');
  const tasks = await readTasks(reader, { job_id: JOB, more_than: 0, ...arrayFields(rules) });
  const context = {
    readers: [reader],
    history: historyOf([reader], screen.now),
    rules,
    settings: loadSettings('/none'),
  };
  return tasks && (await arrayLines({ job_id: JOB, tasks }, view, screen, { ...context, live: null })).lines;
}

/** The screen by whole records. */
async function byRecords(reader: AccountingReader, view: JobViewOptions): Promise<readonly string[]> {
  const sources = { readers: [reader], running: () => Promise.resolve([]) };
  const report = await findJob({ job_id: JOB }, sources);
  const advised = await historyOf([reader], screen.now).advise(report.runs);
  const kinds = await kindsNear(recordsOf(advised), (query) => findDistinct(query, [reader]));
  const judges = { rules: await loadRules(''), kindOf: kinds.of };
  return renderJob({ ...report, runs: advised, judges }, view, screen);
}

describe('the screen of an array job by a few facts of each task', () => {
  it('is the same as the screen by whole records', async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(runs, { minLength: 2, maxLength: 150 }),
        fc.constantFrom(...VIEWS),
        async (all, view) => {
          const path = temporaryStore();
          const store = openSqliteStore(path, 0o600);
          const outcomes = await store.merge(all.map(recordOf));
          assert.ok(outcomes.every(({ ok }) => ok));
          await store.close();
          const reader = openSqliteReader(path);
          const tasks = new Set(all.map(({ task }) => task));
          if (tasks.size > 1) {
            assert.deepEqual(await byFacts(reader, view), await byRecords(reader, view));
            compared += 1;
          }
          await reader.close();
        },
      ),
      { numRuns: 60 },
    );
    assert.ok(compared > 30);
  });
});
