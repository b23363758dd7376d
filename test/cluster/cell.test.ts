import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { attachCell, clusterObstacle, productDirs, upCell, type Cell } from './cell';
import { kind, spoolRoot } from './kind';
import { isAlive, type CellProcess } from './processes';
import { gateFor } from './site';
import { mountsBelow } from './teardown';
import { until } from '../support/until';

const limits = { timeout: 2_000_000 };
/** How long to wait for a cell that another test file is using. */
const waitMs = 300_000;

describe('a Grid Engine cell', () => {
  it('runs serial, array and parallel jobs, and leaves nothing behind when it is brought down', limits, async (t) => {
    const obstacle = clusterObstacle();
    if (obstacle !== null) {
      t.skip(obstacle);
      return;
    }
    const cell = await upCell({ waitMs });
    let running: readonly CellProcess[] = [];
    try {
      await runsASerialJob(cell);
      await runsAnArrayOnBothHosts(cell);
      await runsATightlyIntegratedJob(cell);
      await runsHooksOnceConfigured(cell);
      await givesHostsTheirOwnDirectories(cell);
      await goesOnWithoutQmaster(cell);
      await assert.rejects(cell.on('ge1', 'sleep 60', { user: 'gebob', timeoutMs: 200 }), /no end within 200 ms/);
      await assert.rejects(upCell(), /in use by process/);
      assert.deepEqual([...(await cell.queueStates())].sort(), [
        ['all.q@ge1', ''],
        ['all.q@ge2', ''],
      ]);
      // A job that still runs, and its process in another session, must end too.
      const job = await cell.submit('gealice', [], 'setsid sleep 600 & sleep 600');
      await cell.waitRunning(job);
      await until(() => {
        running = cell.processes();
        return running.filter(({ command }) => command === 'sleep 600').length === 2;
      }, 'both processes');
    } finally {
      await cell.down();
    }
    assert.deepEqual(running.filter(isAlive), []);
    assert.deepEqual(leftovers(cell), nothing);
  });

  it('is cleaned up by the next cell if the process that brought it up was killed', limits, async (t) => {
    const obstacle = clusterObstacle();
    if (obstacle !== null) {
      t.skip(obstacle);
      return;
    }
    const die = `require(process.argv[1]).upCell({ waitMs: ${waitMs} }).then(() => process.kill(process.pid, 'SIGKILL'))`;
    const maker = spawnSync(process.execPath, ['-e', die, join(__dirname, 'cell.js')], { timeout: 2 * waitMs });
    assert.equal(maker.signal, 'SIGKILL', String(maker.stderr));
    const orphans = attachCell().processes();
    assert.equal(orphans.filter(isAlive).length, 3);

    const cell = await upCell({ waitMs });
    try {
      assert.deepEqual(orphans.filter(isAlive), []);
      assert.equal((await cell.qconf(['-sconf'])).status, 0);
    } finally {
      await cell.down();
    }
    assert.throws(() => attachCell(), /no cell is up/);
    assert.deepEqual(leftovers(cell), nothing);
  });
});

async function runsASerialJob(cell: Cell): Promise<void> {
  const script = 'id -un; pwd; hostname; exit 3';
  const job = await cell.submit('gealice', ['-N', 'serial', '-j', 'y', '-o', 'serial.out', '-l', 'h_rt=0:5:0'], script);
  const [record, ...more] = await cell.waitFinished(job);
  assert.ok(record !== undefined);
  assert.equal(more.length, 0);
  const home = cell.layout.home('gealice');
  assert.equal(readFileSync(join(home, 'serial.out'), 'utf8'), `gealice\n${home}\n${record.hostname}\n`);
  assert.deepEqual(
    [record.owner, record.job_name, record.failed, record.exit_status, record.task_number],
    ['gealice', 'serial', '0', '3', '0'],
  );
  assert.match(record.category, /^(-scope global -hard )?-l h_rt=300$/);
  assert.deepEqual(cell.accounting(job), [record]);
}

async function runsAnArrayOnBothHosts(cell: Cell): Promise<void> {
  const job = await cell.submit('gebob', ['-t', '1-20', '-o', '/dev/null', '-e', '/dev/null'], 'sleep 0.2');
  const records = await cell.waitFinished(job);
  const tasks = records.map((record) => Number(record.task_number)).sort((a, b) => a - b);
  assert.deepEqual(
    tasks,
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  assert.deepEqual([...new Set(records.map((record) => record.hostname))].sort(), ['ge1', 'ge2']);
  assert.ok(records.every((record) => record.failed === '0' && record.exit_status === '0'));
}

async function runsATightlyIntegratedJob(cell: Cell): Promise<void> {
  const script = 'while read -r host rest; do qrsh -inherit "$host" hostname </dev/null; done <"$PE_HOSTFILE"';
  const job = await cell.submit('gealice', ['-pe', 'mpi', '4', '-j', 'y', '-o', 'mpi.out'], script);
  const records = await cell.waitFinished(job);
  assert.deepEqual(records.map((record) => record.pe_taskid).sort(), ['1.ge1', '1.ge2', 'NONE']);
  const output = readFileSync(join(cell.layout.home('gealice'), 'mpi.out'), 'utf8');
  assert.deepEqual(output.trim().split('\n').sort(), ['ge1', 'ge2']);
}

async function runsHooksOnceConfigured(cell: Cell): Promise<void> {
  const traces = join(cell.stateDir, 'hook-traces');
  const hook = join(cell.stateDir, 'hook.sh');
  await cell.check(
    cell.master,
    `mkdir ${traces}; printf '#!/bin/sh\\n: >${traces}/$1.$2\\n' >${hook}; chmod 755 ${hook}`,
  );
  await cell.setGlobal({ prolog: `root@${hook} prolog $job_id`, epilog: `root@${hook} epilog $job_id` });
  const job = await cell.submit('gealice', ['-t', '1-8', '-o', '/dev/null', '-e', '/dev/null'], 'true');
  await cell.waitFinished(job);
  assert.deepEqual(readdirSync(traces).sort(), [`epilog.${job}`, `prolog.${job}`]);
  await cell.setGlobal({ prolog: 'none', epilog: 'none' });
}

async function goesOnWithoutQmaster(cell: Cell): Promise<void> {
  const gate = gateFor(cell, 'gealice', 'alone');
  const job = await cell.submit('gealice', ['-o', '/dev/null', '-e', '/dev/null'], `${gate.wait}; exit 4`);
  await cell.waitRunning(job);
  await cell.stopMaster();
  gate.open();
  await assert.rejects(cell.qstat(), /unable to send message to qmaster/);
  await cell.startMaster();
  await cell.awaitLoadReports();
  const [record] = await cell.waitFinished(job);
  assert.equal(record?.exit_status, '4');
}

async function givesHostsTheirOwnDirectories(cell: Cell): Promise<void> {
  for (const dir of productDirs) {
    for (const host of cell.execHosts) await cell.check(host, `uname -n >${dir}/name`);
    for (const host of cell.execHosts) {
      assert.equal(await cell.check(host, ['cat', `${dir}/name`]), `${host}\n`);
      assert.equal(readFileSync(join(cell.productDir(host, dir), 'name'), 'utf8'), `${host}\n`);
    }
    assert.ok(!existsSync(`${dir}/name`));
  }
  const outside = readlinkSync('/proc/self/ns/net');
  const inode = (await cell.check('ge1', ['stat', '-c', '%i', cell.initialNetns])).trim();
  assert.equal(outside, `net:[${inode}]`);
}

const mountPoints: readonly string[] = [...productDirs, kind.sgeRoot, spoolRoot];

const nothing = { mounts: [], links: [], files: [], temporary: [], packageSpool: [], users: [] };

/** What a cell could have left behind on this machine, apart from processes. */
function leftovers(cell: Cell): typeof nothing | Record<string, string[]> {
  return {
    mounts: mountsBelow('').filter((path) => path.startsWith(`${cell.stateDir}/`) || mountPoints.includes(path)),
    links: readdirSync('/sys/class/net').filter((name) => /^(cell|port)/.test(name)),
    files: [cell.stateDir].filter((path) => existsSync(path)),
    temporary: readdirSync('/tmp').filter((name) => isOfNobody(name)),
    packageSpool: readdirSync(spoolRoot).includes('execd') ? readdirSync(join(spoolRoot, 'execd')) : [],
    users: cell.users.map(({ name }) => name).filter((name) => readFileSync('/etc/passwd', 'utf8').includes(name)),
  };
}

/** Whether a file in /tmp is left of a Grid Engine daemon that has ended: the files of other cells' daemons stay. */
function isOfNobody(name: string): boolean {
  const pid = /^(?:execd|qmaster)_messages\.(\d+)$/.exec(name)?.[1];
  return pid === undefined ? name.endsWith('.all.q') : !existsSync(`/proc/${pid}`);
}
