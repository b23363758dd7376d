import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { openSqliteReader, openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { showJobs, type JobOptions } from '../../../src/cli/commands/job';
import type { Sources } from '../../../src/cli/stores/stores';
import type { JobRecord } from '../../../src/record/record';
import { temporaryStore } from '../../accounting/temporary-store';
import { unsampled } from '../../report/sample-records';
import { accountOf } from '../../support/records';
import { fakeTerminal } from '../fake-terminal';

const COUNTED = 9300;
const UNKNOWN = 9301;
const ALONE = 9302;
const TASKS = 3;

/** Tasks in a parallel environment, known from Grid Engine's accounting alone: on how many hosts they ran is unknown. */
const tasksOf = (job_id: number, bytesOf: (task: number) => number): readonly JobRecord[] =>
  Array.from({ length: TASKS }, (_, index): JobRecord => ({
    ...unsampled,
    ...{ job_id, task_id: index + 1, run_id: `accounting.${job_id}`, trust: 'accounting', pe: 'mpi', slots: 4 },
    ...{ host_slots: null, granted_hosts: null },
    ...{ peak_rss: null, peak_rss_swap: null, peak_process_vmem: null, peak_footprint: null },
    grid_engine: accountOf({ maxvmem_bytes: bytesOf(index + 1) }),
  }));

const path = temporaryStore();

before(async () => {
  const store = openSqliteStore(path, 0o600);
  const records = [...tasksOf(COUNTED, (task) => task * 2 ** 28), ...tasksOf(UNKNOWN, () => 0)];
  const alone = tasksOf(ALONE, () => 0)
    .slice(0, 1)
    .map((record) => ({ ...record, task_id: null }));
  assert.ok((await store.merge([...records, ...alone])).every(({ ok }) => ok));
  await store.close();
});

async function worst(job: number, options: Partial<JobOptions> = {}) {
  const sources: Sources = {
    open: () => Promise.resolve(openSqliteReader(path)),
    askServer: () => Promise.reject(new Error('there is none')),
    gridEngine: () => Promise.reject(new Error('there is none')),
    running: () => Promise.resolve([]),
  };
  const terminal = fakeTerminal();
  const asked = { config: '/nonexistent.toml', color: false, accounting: path, worst: '2', ...options };
  const status = await showJobs([String(job)], asked, terminal, sources);
  return { status, output: terminal.output(), warnings: terminal.warnings() };
}

describe('the worst tasks of a parallel array that nobody sampled', () => {
  it("are ranked by Grid Engine's maxvmem", async () => {
    const { status, output } = await worst(COUNTED);
    assert.equal(status, 0);
    assert.match(output, /^ +3 .* ~768 MiB.*\n +2 .* ~512 MiB/m);
    const { records } = JSON.parse((await worst(COUNTED, { json: true })).output) as { records: JobRecord[] };
    assert.deepEqual(
      records.map(({ task_id: task }) => task),
      [3, 2],
    );
  });

  for (const options of [{}, { json: true }, { all: true }] as const)
    it(`are none where no memory is known: ${JSON.stringify(options)}`, async () => {
      const { status, warnings } = await worst(UNKNOWN, options);
      assert.deepEqual([status, warnings], [1, 'qmemacct: --worst: no memory is known of any task\n']);
    });

  it('are not chosen in a job that is not an array, which is shown with a warning', async () => {
    const { status, warnings } = await worst(ALONE);
    assert.deepEqual([status, warnings], [0, `qmemacct: job ${ALONE} is not an array: --worst left out\n`]);
  });
});
