import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import type { Answer, Snapshot } from '../../src/live/snapshot';
import { checkedSnapshot } from '../../src/live/snapshot-json';
import { clusterObstacle, upCell, type Cell } from './cell';
import { client, kind } from './kind';
import { temporaryDirectory } from '../support/temporary-directory';
import { until } from '../support/until';

/** One snapshot that live-program.ts printed. */
interface Output {
  readonly now: number;
  readonly source: string;
  readonly warning: string | null;
  readonly snapshot: Snapshot;
}

interface Watcher {
  readonly outputs: Output[];
  /** The first output that is as wanted, of those printed from now on. */
  until(what: string, wanted: (output: Output) => boolean): Promise<Output>;
}

/** Pause after the first try at a qmaster that does not answer. */
const FIRST_PAUSE_MS = 10_000;
/** How old an answer may be: longer than any command may take. */
const FRESH_MS = 30_000;
const SETTINGS = { poll_interval: 1, usage_interval: 2, command_timeout: 20, serve_socket: '/nowhere/serve.sock' };

/** Runs live-program.ts on a host of the cell until the test is over. */
function watch(t: TestContext, cell: Cell, host: string): Watcher {
  const home = temporaryDirectory();
  const program = [process.execPath, join(__dirname, 'live-program.js'), JSON.stringify(SETTINGS), 'pending'];
  const { argv, env } = cell.command(host, program, { env: { HOME: home } });
  const child = spawn(argv[0] ?? '', argv.slice(1), { env, cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const outputs: Output[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const one = JSON.parse(line) as Omit<Output, 'snapshot'> & { snapshot: unknown };
    const snapshot = checkedSnapshot(one.snapshot);
    assert.ok(snapshot.ok);
    outputs.push({ ...one, snapshot: snapshot.value });
  });
  // The program may have ended with the cell.
  child.stdin.on('error', () => undefined);
  t.after(async () => {
    child.stdin.end();
    await ended;
  });
  return {
    outputs,
    until: (what, wanted) => {
      const from = outputs.length;
      return until(
        () => outputs.slice(from).find(wanted) ?? null,
        () => `${what}; the last output was ${JSON.stringify(outputs.at(-1), null, 1).slice(0, 4000)}`,
      );
    },
  };
}

type Query = 'running' | 'hosts' | 'details' | 'pending';
const QUERIES: readonly Query[] = ['running', 'hosts', 'details', 'pending'];

function answer({ snapshot }: Output, query: Query): Answer<readonly unknown[]> {
  const found: Answer<readonly unknown[]> | null = snapshot[query];
  assert.ok(found !== null);
  return found;
}

const problems = (output: Output): readonly (string | null)[] => QUERIES.map((query) => answer(output, query).problem);

const isWithoutProblems = (output: Output): boolean =>
  output.snapshot.pending !== null && problems(output).every((problem) => problem === null);

interface Jobs {
  readonly runs: number;
  readonly stopped: number;
  readonly array: number;
  readonly held: number;
}

async function submitJobs(cell: Cell): Promise<Jobs> {
  const args = ['-l', 'h_vmem=200M'];
  const runs = await cell.submit('gealice', ['-N', 'a<b&"c', ...args], 'sleep 600');
  const stopped = await cell.submit('gealice', ['-N', 'stopped', ...args], 'sleep 600');
  const array = await cell.submit('gebob', ['-N', 'array', '-t', '1-3', ...args], 'sleep 600');
  const held = await cell.submit('gebob', ['-N', 'held', '-h', ...args], 'sleep 600');
  await cell.waitRunning(runs);
  await cell.waitRunning(stopped);
  await cell.waitRunning(array, 3);
  await cell.check(cell.master, [client('qmod'), '-sj', stopped]);
  return { runs: Number(runs), stopped: Number(stopped), array: Number(array), held: Number(held) };
}

/** Asserts that a snapshot shows everything that qmaster knows of these jobs. */
async function everythingIsShown(cell: Cell, watcher: Watcher, jobs: Jobs): Promise<void> {
  const usageOf = ({ snapshot }: Output, job: number): number =>
    snapshot.details.value
      .filter((detail) => detail.job === job)
      .flatMap(({ tasks }) => tasks.map(({ usage }) => usage.get('vmem') ?? 0))
      .filter((vmem) => vmem > 0).length;
  const output = await watcher.until(
    'usage of all jobs',
    (one) =>
      isWithoutProblems(one) &&
      one.snapshot.running.value.some(({ job, state }) => job === jobs.stopped && state === 's') &&
      usageOf(one, jobs.runs) === 1 &&
      usageOf(one, jobs.stopped) === 1 &&
      usageOf(one, jobs.array) === 3 &&
      QUERIES.every((query) => one.now - (answer(one, query).at ?? 0) < FRESH_MS),
  );
  const { snapshot } = output;
  assert.equal(snapshot.dialect, kind.dialect);
  assert.equal(output.source, 'shared');
  assert.equal(output.warning, null);
  const rows = snapshot.running.value.map(({ job, tasks, state }) => [job, tasks, state]);
  assert.deepEqual(
    rows.sort((a, b) => String(a).localeCompare(String(b))),
    [
      [jobs.runs, null, 'r'],
      [jobs.stopped, null, 's'],
      [jobs.array, '1', 'r'],
      [jobs.array, '2', 'r'],
      [jobs.array, '3', 'r'],
    ].sort((a, b) => String(a).localeCompare(String(b))),
  );
  assert.deepEqual(
    snapshot.pending?.value.map(({ job, state }) => [job, state]),
    [[jobs.held, 'hqw']],
  );
  const names = snapshot.hosts.value.map(({ name }) => name);
  for (const host of cell.execHosts) assert.ok(names.includes(host), String(names));
  const onHosts = snapshot.hosts.value.flatMap((host) => host.jobs.map(({ job }) => job));
  assert.deepEqual(new Set(onHosts), new Set([jobs.runs, jobs.stopped, jobs.array]));
  for (const query of QUERIES) {
    const age = output.now - (answer(output, query).at ?? 0);
    assert.ok(age >= 0, `${query} is ${age} ms old`);
  }
}

/** Asserts that a job that ends between two polls makes no problem of any query. */
async function endedJobIsNoError(cell: Cell, watcher: Watcher, jobs: Jobs): Promise<void> {
  const from = watcher.outputs.length;
  await cell.qdel([String(jobs.array)]);
  await watcher.until(
    'the array is gone',
    (one) => isWithoutProblems(one) && !one.snapshot.details.value.some(({ job }) => job === jobs.array),
  );
  for (const one of watcher.outputs.slice(from)) assert.deepEqual(problems(one), [null, null, null, null]);
}

/** Asserts that each query shows its last answer with that answer's time, and this problem. */
function assertShownAsOld(watcher: Watcher, output: Output, reason: RegExp): void {
  for (const query of QUERIES) {
    const now = answer(output, query);
    assert.match(now.problem ?? 'no problem', reason, query);
    assert.ok((now.at ?? 0) < output.now, `${query} is shown as of ${output.now - (now.at ?? 0)} ms ago`);
    const well = watcher.outputs.findLast((one) => one.now < output.now && answer(one, query).problem === null);
    assert.ok(well !== undefined);
    assert.deepEqual(now.value, answer(well, query).value, query);
  }
}

async function qmasterStops(cell: Cell, watcher: Watcher): Promise<void> {
  await cell.stopMaster();
  const reason = /^qmaster does not answer \(q(?:stat|host): .*\); look whether sge_qmaster runs on the host/;
  const first = await watcher.until('the end of qmaster is shown', (one) => problems(one).every(Boolean));
  assertShownAsOld(watcher, first, reason);
  const last = await watcher.until('another output 2.5 s later', (one) => one.now - first.now > 2500);
  assertShownAsOld(watcher, last, reason);
  assert.equal(answer(last, 'running').at, answer(first, 'running').at);
  const pauses = watcher.outputs
    .filter((one) => one.now > first.now)
    .map((one) => (answer(one, 'running').triedAt ?? 0) - (answer(first, 'running').triedAt ?? 0));
  assert.deepEqual(
    pauses.filter((ms) => ms > 0 && ms < FIRST_PAUSE_MS),
    [],
    'qmaster is left alone for a while',
  );

  const away = Date.now();
  await cell.startMaster();
  const well = await watcher.until('the return of qmaster is seen', isWithoutProblems);
  assert.ok((answer(well, 'details').at ?? 0) > away);
}

async function qmasterHangs(cell: Cell, watcher: Watcher): Promise<void> {
  const master = cell.qmaster();
  assert.ok(master !== null);
  process.kill(master.pid, 'SIGSTOP');
  try {
    const hung = await watcher.until('a qmaster that hangs is shown', (one) => problems(one).every(Boolean));
    assertShownAsOld(watcher, hung, /^q(?:stat|host) did not answer within 20 s and was ended/);
    const tried = QUERIES.map((query) => answer(hung, query)).filter(({ at, triedAt }) => (triedAt ?? 0) > (at ?? 0));
    // A second round may have begun before this check.
    assert.ok(tried.length < QUERIES.length, 'after one command that did not end the others are not even tried');
    // Between two rounds no client is left.
    const left = (): readonly unknown[] => cell.processes().filter(({ command }) => /\/qstat|\/qhost/.test(command));
    await until(
      () => left().length === 0,
      () => `the end of ${JSON.stringify(left())}`,
    );
  } finally {
    process.kill(master.pid, 'SIGCONT');
  }
  await watcher.until('qmaster answers again', isWithoutProblems);
}

/** Asserts that a host that is neither submit nor admin host shows that as the problem of its queries. */
async function hostIsDenied(t: TestContext, cell: Cell): Promise<void> {
  const host = 'ge2';
  await cell.qconf(['-ds', host]);
  await cell.qconf(['-dh', host]);
  try {
    const output = await watch(t, cell, host).until('the denial', ({ snapshot }) => snapshot.running.problem !== null);
    const denial = /^Grid Engine denies this host \(qstat: denied: host "ge2" is neither submit nor admin host\)/;
    assert.match(output.snapshot.running.problem ?? '', denial);
    assert.match(output.snapshot.hosts.problem ?? '', denial);
    assert.equal(output.snapshot.running.at, null);
  } finally {
    await cell.qconf(['-ah', host]);
    await cell.qconf(['-as', host]);
  }
}

describe('the poller on a real Grid Engine', () => {
  it(
    'shows what qmaster knows, and whether qmaster stopped, hangs or denies the host',
    { timeout: 2_000_000 },
    async (t) => {
      const obstacle = clusterObstacle();
      if (obstacle !== null) {
        t.skip(obstacle);
        return;
      }
      const cell = await upCell({ waitMs: 600_000 });
      try {
        const jobs = await submitJobs(cell);
        const watcher = watch(t, cell, cell.master);
        await everythingIsShown(cell, watcher, jobs);
        await endedJobIsNoError(cell, watcher, jobs);
        await qmasterStops(cell, watcher);
        await qmasterHangs(cell, watcher);
        await hostIsDenied(t, cell);
      } finally {
        await cell.down();
      }
    },
  );
});
