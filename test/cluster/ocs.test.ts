import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { MIB } from '../../src/base/units';
import { memoryRequests } from '../../src/gridengine/memory-request';
import { parseSpoolConfig } from '../../src/gridengine/spool-config';
import { parseAccountingLine } from '../gridengine/parse-accounting-line';
import { clusterObstacle, upCell, type Cell } from './cell';
import { client, kind } from './kind';
import { until } from '../support/until';

const USER = 'gealice';
const limits = { timeout: 2_000_000 };

/** Writes a site's hook into a directory where every user may write; returns its path. */
function hook(cell: Cell, name: string, body: string): string {
  const directory = join(cell.stateDir, 'facts');
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o1777);
  const path = join(directory, `${name}.sh`);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

const factOf = (cell: Cell, name: string): string => readFileSync(join(cell.stateDir, 'facts', name), 'utf8');

/** Which of the owner's variables reach a hook that runs as root, and the limit under which it runs. */
async function hookEnvironment(cell: Cell): Promise<void> {
  const facts = join(cell.stateDir, 'facts');
  const body = [
    `/usr/bin/tr '\\0' '\\n' </proc/$$/environ >${facts}/environment`,
    `ulimit -v >${facts}/limit`,
    `/bin/cp "$SGE_JOB_SPOOL_DIR/config" ${facts}/config`,
  ].join('\n');
  await cell.setGlobal({ prolog: `root@${hook(cell, 'prolog', body)}`, epilog: 'none' });
  const chosen = {
    LD_AUDIT: '/nowhere/audit.so',
    LD_PRELOAD: '/nowhere/preload.so',
    LD_LIBRARY_PATH: '/nowhere',
    GCONV_PATH: '/nowhere',
    BASH_ENV: '/nowhere',
    NODE_OPTIONS: '--no-warnings',
  };
  const list = Object.entries(chosen).map(([name, value]) => `${name}=${value}`);
  const words = ['-o', '/dev/null', '-j', 'y', '-l', 'h_vmem=700M', '-v', list.join(',')];
  await cell.waitFinished(await cell.submit(USER, words, 'exit 0'));
  const reached = factOf(cell, 'environment')
    .split('\n')
    .map((line) => line.split('=')[0] ?? '');
  assert.deepEqual(
    Object.keys(chosen).filter((name) => reached.includes(name)),
    ['LD_AUDIT', 'GCONV_PATH', 'BASH_ENV', 'NODE_OPTIONS'],
  );
  assert.equal(factOf(cell, 'limit').trim(), String(700 * 1024));
  const config = parseSpoolConfig(factOf(cell, 'config'));
  assert.deepEqual(config.ok && [config.value.owner, config.value.ambiguous], [USER, []]);
}

/** Requests by scope, as a hook finds them in `config`, and in the accounting line. */
async function requests(cell: Cell): Promise<void> {
  const seen = 'grep ^h_vmem= "$SGE_JOB_SPOOL_DIR/config"';
  const output = join(cell.layout.home(USER), 'requests.out');
  const one = async (...words: readonly string[]): Promise<string> => {
    writeFileSync(output, '');
    chmodSync(output, 0o666);
    await cell.waitFinished(await cell.submit(USER, ['-o', output, '-j', 'y', ...words], seen));
    return readFileSync(output, 'utf8').trim();
  };
  assert.equal(await one('-scope', 'global', '-l', 'h_vmem=300M'), 'h_vmem=300M');
  assert.equal(
    await one('-pe', 'tight', '2', '-scope', 'master', '-l', 'h_vmem=400M', '-scope', 'slave', '-l', 'h_vmem=200M'),
    'h_vmem=400M',
  );
  const line = parseAccountingLine(readFileSync(cell.layout.accounting, 'utf8').trim().split('\n').at(-1) ?? '');
  const category = '-scope master -hard -l h_vmem=419430400 -scope slave -hard -l h_vmem=209715200 -pe tight 2';
  assert.equal(line.ok && line.value.category, category);
}

/** Where the parallel environment's daemons fork the tasks, `config` has requests times the slots, one behind the other. */
async function requestsOfForks(cell: Cell): Promise<void> {
  const plain = await cell.check(cell.master, [client('qconf'), '-sp', 'smp']);
  const forks = plain.replace(/^pe_name .*/m, 'pe_name forks').replace(/^(daemon_forks_slaves) .*/m, '$1 TRUE');
  await cell.qconfFile('-Ap', 'forks', forks);
  const listed = await cell.qconf(['-aattr', 'queue', 'pe_list', 'forks', 'all.q']);
  assert.equal(listed.status, 0, listed.stderr);
  const output = join(cell.layout.home(USER), 'forks.out');
  const words = ['-o', output, '-j', 'y', '-pe', 'forks', '3', '-l', 'h_vmem=700M,s_data=900M'];
  await cell.waitFinished(await cell.submit(USER, words, 'cat "$SGE_JOB_SPOOL_DIR/config"'));
  const text = readFileSync(output, 'utf8');
  assert.match(text, /^h_vmem=2\.051G$/m);
  const config = parseSpoolConfig(text);
  assert.ok(config.ok, text);
  assert.deepEqual(
    memoryRequests(config.value, ['h_vmem', 's_data']).map(({ requestBytes }) => Math.round((requestBytes ?? 0) / MIB)),
    [700, 900],
  );
}

/** The files in the spool directory of a running job, and which files are missing there. */
async function spoolFiles(cell: Cell): Promise<void> {
  const job = await cell.submit(USER, ['-o', '/dev/null', '-j', 'y'], 'sleep 600');
  const [task] = await cell.waitRunning(job);
  const host = task?.queue?.split('@')[1] ?? '';
  const directory = join(cell.layout.spool, 'execd', host, 'active_jobs', `${job}.1`);
  await until(
    () => existsSync(join(directory, 'job_pid')),
    () => `${directory}/job_pid`,
  );
  const has = (name: string): boolean => existsSync(join(directory, name));
  assert.deepEqual(['config', 'environment', 'addgrpid', 'pid', 'usage', 'online_usage'].map(has), [
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
  await cell.qdel([job], USER);
  const [line] = await cell.waitFinished(job);
  assert.deepEqual([line?.failed, line?.exit_status], ['100', '137']);
}

async function failingEpilog(cell: Cell): Promise<void> {
  const once = `[ -e ${cell.stateDir}/facts/failed ] && exit 0; : >${cell.stateDir}/facts/failed; exit 1`;
  await cell.setGlobal({ prolog: 'none', epilog: `root@${hook(cell, 'epilog', once)}` });
  const lines = await cell.waitFinished(await cell.submit(USER, ['-o', '/dev/null', '-j', 'y'], 'exit 0'));
  assert.deepEqual(
    lines.map(({ failed }) => failed),
    ['15', '0'],
  );
  assert.equal([...(await cell.queueStates()).values()].filter((states) => states.includes('E')).length, 1);
  await cell.clearErrors();
}

/** Values that a site's epilog adds to the accounting are kept apart from the job's usage. */
async function ownUsage(cell: Cell): Promise<void> {
  const reporting = 'accounting=true reporting=false flush_time=00:00:15 accounting_flush_time=00:00:00';
  const body = 'echo site_watts=42 >>"$SGE_JOB_SPOOL_DIR/usage"';
  await cell.setGlobal({
    epilog: `root@${hook(cell, 'usage', body)}`,
    reporting_params: `${reporting} usage_patterns=site:site_*`,
  });
  const job = await cell.submit(USER, ['-o', '/dev/null', '-j', 'y', '-l', 'h_vmem=700M'], 'exit 3');
  await cell.waitFinished(job);
  const text = readFileSync(cell.layout.accounting, 'utf8').trim().split('\n').at(-1) ?? '';
  assert.match(text, /"site":\{"site_watts":42(\.0)?\}/);
  const line = parseAccountingLine(text);
  assert.ok(line.ok, text);
  const { jobId, exitStatus, failed, startTimeMs, endTimeMs } = line.value;
  assert.deepEqual([jobId, exitStatus, failed], [Number(job), 3, 0]);
  assert.ok(startTimeMs !== null && endTimeMs !== null, text);
}

/** The complex mem_limit belongs to another product. */
async function noMemLimit(cell: Cell): Promise<void> {
  const complexes = await cell.check(cell.master, [client('qconf'), '-sc']);
  assert.match(complexes, /^h_rss /m);
  assert.doesNotMatch(complexes, /^mem_limit /m);
}

describe('Open Cluster Scheduler', () => {
  it('does what the product relies on', limits, async (t) => {
    const obstacle = clusterObstacle();
    if (obstacle !== null || kind.dialect !== 'ocs') {
      t.skip(obstacle ?? `this cell is ${kind.name}`);
      return;
    }
    const cell = await upCell();
    try {
      await t.test("runs root's hooks with LD_AUDIT and the like, and under the job's limit", () =>
        hookEnvironment(cell),
      );
      await t.test('writes requests by scope into config as typed, and into the category', () => requests(cell));
      await t.test('writes requests into config times the slots where daemons fork the tasks', () =>
        requestsOfForks(cell),
      );
      await t.test('writes config, environment, addgrpid and pid, but no usage of a running job', () =>
        spoolFiles(cell),
      );
      await t.test('puts a queue instance into error if an epilog fails, and runs the finished job again', () =>
        failingEpilog(cell),
      );
      await t.test('writes usage that an epilog adds into the accounting', () => ownUsage(cell));
      await t.test('has no complex mem_limit', () => noMemLimit(cell));
    } finally {
      await cell.down();
    }
  });
});
