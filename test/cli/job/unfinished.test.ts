import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { showJobs, type JobOptions } from '../../../src/cli/commands/job';
import type { LiveSources } from '../../../src/cli/live/sources';
import { aDetail, fakeQmaster } from '../../live/fake-qmaster';
import { answer, host, listed, snapshot, waiting } from '../../live/snapshots';
import { killedAtLimit, ordinary, running } from '../../report/sample-records';
import { fakeTerminal, type FakeTerminal } from '../fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeLiveSources } from '../fake-live-sources';

const directory = temporaryDirectory();
const config = join(directory, 'settings.toml');
const HELD = 9001;
const FAILED = 9002;
const ARRAY = 9004;
const AGAIN = 9005;
const UNSTARTED = 9006;
const REUSED = 9007;
const ENDED = 8008;
const LISTED = { at: Date.UTC(2026, 10, 21, 11, 59, 50) };
const array = [
  waiting(ARRAY, { tasks: '6-100:2', state: 'qw' }),
  waiting(ARRAY, { tasks: '5', state: 'Eqw' }),
  waiting(ARRAY, { tasks: '7', state: 'hqw' }),
];
const again = [waiting(AGAIN, { state: 'Rq' }), waiting(UNSTARTED, { state: 'Eqw' })];
const mine = waiting(9003, { name: 'mine', owner: userInfo().username });

/** Exit status 100 has put this job into the error state. */
const failed = { ...ordinary, job_id: FAILED, run_id: '9.9002.1', exit_status: 100, ended_at: '2026-11-21T11:00:00Z' };

/** Grid Engine killed this run to run the job again, which waits now. No accounting line was imported yet. */
const rescheduled = { ...failed, job_id: AGAIN, run_id: '9.9005.1', exit_status: 137, signal: 9, failed: null };
/** This job's start failed: it has no exit status. */
const unstarted = { ...failed, job_id: UNSTARTED, run_id: '9.9006.1', exit_status: null, signal: null, failed: null };

/** A job of last year: job numbers have begun again since, and a job that waits has its number now. */
const old = { ...ordinary, job_id: REUSED, run_id: '9.9007.1', started_at: null, ended_at: '2025-11-21T11:00:00Z' };

/** Grid Engine has suspended this job, as the admin has its queue. */
const suspended = { ...running, cluster: snapshot().cluster, revision: Date.UTC(2026, 10, 21, 11, 59, 50) };
const suspendedRow = listed(suspended.job_id, 'all.q@node01', { state: 'sS', submittedAt: null });

/** This job was deleted after the list that shows it running was made. */
const deleted = { ...rescheduled, job_id: ENDED, run_id: '9.8008.1', ended_at: '2026-11-21T11:59:55Z' };

/** One task of the array has ended for good, as Grid Engine's accounting says, too. */
const killed = { ...killedAtLimit, job_id: ARRAY, task_id: 3, run_id: '9.9004.3', ended_at: '2026-11-21T11:00:00Z' };

before(async () => {
  const database = join(directory, 'accounting.db');
  writeFileSync(config, `accounting = "${database}"\nserve_socket = "${directory}/s"\nrun_dir = "${directory}"\n`);
  const store = openSqliteStore(database, 0o600);
  assert.ok(
    (
      await store.merge([
        failed,
        rescheduled,
        unstarted,
        old,
        ordinary,
        suspended,
        deleted,
        killed,
        { ...killed, trust: 'accounting' },
      ])
    ).every(({ ok }) => ok),
  );
  await store.close();
});

interface Shown {
  readonly status: number;
  readonly terminal: FakeTerminal;
  readonly asked: readonly string[];
}

async function job(words: readonly string[], options: Partial<JobOptions> = {}): Promise<Shown> {
  const qmaster = fakeQmaster((client, args) => {
    if (args[0] === '-j') return { items: (args[1] ?? '').split(',').map((id) => aDetail(Number(id))) };
    return { items: args.includes('ho') ? [waiting(HELD)] : [] };
  });
  const pending = [
    waiting(HELD, { state: 'hqw', owner: 'bob' }),
    waiting(FAILED, { state: 'Eqw' }),
    waiting(REUSED),
    ...again,
    mine,
    ...array,
  ];
  const live: LiveSources = {
    ...fakeLiveSources(
      snapshot({
        hosts: answer([host('node01')]),
        running: answer([suspendedRow, listed(ENDED, 'all.q@node01')], LISTED),
        pending: answer(pending, LISTED),
      }),
    ),
    tools: () => Promise.resolve(qmaster.tools),
  };
  const terminal = fakeTerminal({ env: { LANG: 'C.UTF-8', HOME: directory } });
  const status = await showJobs(words, { config, color: false, ...options }, terminal, undefined, live);
  return { status, terminal, asked: qmaster.asked };
}

describe('qmemacct job for a job that has not ended', () => {
  it('shows a job that no store knows, and who holds it', async () => {
    const { status, terminal, asked } = await job([String(HELD)]);
    assert.equal(status, 0);
    assert.match(terminal.output(), /An operator holds it; .* qrls -h o 9001/);
    assert.equal(terminal.warnings(), '');
    assert.deepEqual(asked, [
      `qstat -j ${HELD} -xml`,
      ...['hu', 'ho', 'hs'].map((state) => `qstat -u bob -s ${state} -xml`),
    ]);
  });

  it('takes a job just submitted as the last one, also by its name', async () => {
    assert.match((await job([])).terminal.output(), /^Job 9003 {2}mine /);
    assert.match((await job(['mine'])).terminal.output(), /^Job 9003 {2}mine /);
    assert.match((await job(['other'])).terminal.warnings(), /no job named other of /);
  });

  it('shows above the last run that the job waits again', async () => {
    const { terminal } = await job([String(FAILED)]);
    assert.match(terminal.output(), /qmod -cj 9002[^]*Data quality/);
    assert.match((await job([String(AGAIN)])).terminal.output(), /^Job 9005 .* waiting,[^]*Data quality/);
    assert.match((await job([String(UNSTARTED)])).terminal.output(), /qmod -cj 9006[^]*Data quality/);
  });

  it('does not show as running a job whose run ended after the list was made', async () => {
    assert.match((await job([String(ENDED)])).terminal.output(), /^Job 8008 .* killed by SIGKILL/);
  });

  it('shows a job that waits above one of last year that had its number', async () => {
    assert.match((await job([String(REUSED)])).terminal.output(), /^Job 9007 .* waiting,[^]*2025-11-21/);
  });

  it('asks Grid Engine nothing about a job that has ended well, or with --accounting or --at', async () => {
    for (const [words, options] of [
      [[String(ordinary.job_id)], {}],
      [[String(HELD)], { accounting: join(directory, 'accounting.db') }],
      [[String(HELD)], { at: '2026-11-01' }],
    ] as const)
      assert.deepEqual((await job(words, options)).asked, []);
  });

  it('shows a line for each of several jobs, and lists all of them in JSON', async () => {
    const words = [`${HELD},${ordinary.job_id}`];
    assert.match((await job(words)).terminal.output(), /\nJob 9001 {2}job9001: held\. An operator holds it/);
    const found = JSON.parse((await job(words, { json: true })).terminal.output()) as {
      readonly records: readonly object[];
      readonly unfinished: readonly { readonly job_id: number; readonly held_by: readonly string[] }[];
    };
    assert.equal(found.records.length, 1);
    assert.deepEqual(
      found.unfinished.map(({ job_id, held_by }) => ({ job_id, held_by })),
      [{ job_id: HELD, held_by: ['operator'] }],
    );
  });

  it('shows the state of the given task, not of the others', async () => {
    const shown = async (task: number): Promise<string> => (await job([`${ARRAY}.${task}`])).terminal.output();
    const waits = await shown(8);
    assert.match(waits, /^Job 9004\.8 {2}job9004 +waiting,/);
    assert.doesNotMatch(waits, /Eqw|Tasks .*6-100/);
    assert.match(await shown(5), /failed to start \(Eqw\)/);
    const found = JSON.parse((await job([`${ARRAY}.7`, `${ARRAY}.8`], { json: true })).terminal.output()) as {
      readonly unfinished: readonly { readonly task_id: number; readonly state: string }[];
    };
    assert.deepEqual(
      found.unfinished.map(({ task_id, state }) => [task_id, state]),
      [
        [7, 'held'],
        [8, 'waiting'],
      ],
    );
    assert.equal((await job([`${ARRAY}.9`])).status, 1);
  });

  it('says what suspends a job that runs by its record', async () => {
    const shown = async (options: Partial<JobOptions>): Promise<string> =>
      (await job([String(suspended.job_id)], options)).terminal.output();
    assert.match(
      await shown({}),
      /^Job 4715 .* suspended\n[^]*suspended it; qmod -usj 4715 lets[^]*Its queue is suspended/,
    );
    assert.match(await shown({ brief: true }), /^State: suspended$/m);
    assert.match(await shown({ accounting: join(directory, 'accounting.db') }), /^Job 4715 .* running\n/);
  });

  it('answers --retry for a task that has ended while others wait', async () => {
    const { status, terminal } = await job([`${ARRAY}.3`], { retry: true });
    assert.deepEqual([status, terminal.warnings()], [0, '']);
    assert.match(terminal.output(), /^h_vmem=/);
    assert.equal((await job([String(ARRAY)], { retry: true })).status, 4);
  });

  it('says that a job is unknown where Grid Engine does not list it either', async () => {
    const { status, terminal } = await job(['12345']);
    assert.equal(status, 1);
    assert.match(
      terminal.warnings(),
      /job 12345: nothing known in .*, nor in Grid Engine's lists of .* ago; one submitted since appears within seconds/,
    );
  });
});
