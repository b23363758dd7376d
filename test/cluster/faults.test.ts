import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SQLITE_PACKAGE } from '../../src/native/sqlite';
import { programPath } from '../../src/base/programs';
import { programFiles } from '../../src/cli/install/program-files';
import {
  assertHolds,
  assertQueuesWell,
  burnerCommand,
  holds,
  isSampled,
  mib,
  truthOf,
  UNTIL_TOLD,
  withSite,
  wordFor,
  type Site,
} from './site';
import { PROGRAM } from '../support/released';
import { until } from '../support/until';

const limits = { timeout: 2_000_000 };

interface Sampler {
  readonly pid: number;
  readonly host: string;
}

/** The sampler that looks after a job. */
function samplerOf({ cell }: Site, job: string): Promise<Sampler> {
  return until(() => {
    for (const host of cell.execHosts) {
      const found = cell
        .processes(host)
        .find(({ command }) => command.includes('sampler/main.js') && command.includes(`job=${job} `));
      if (found !== undefined) return { pid: found.pid, host };
    }
    return null;
  }, `the sampler of job ${job}`);
}

/** Until the accounting DB has a heartbeat of the job with samples, in one of which it held so much. */
const hasSamples = ({ product }: Site, job: string, bytes = 0): Promise<true> =>
  until(
    async () => (await product.present(job)).some(({ record }) => (record.samples ?? 0) > 0 && holds(bytes)(record)),
    `a heartbeat of job ${job} with samples`,
  );

/** Far beyond what the jobs sleep and a busy machine adds; a hook that waits for what does not come waits longer. */
const MOST_SECONDS = 120;

async function killedSampler(site: Site): Promise<void> {
  const { cell, product } = site;
  const word = wordFor(cell, 'gealice', 'killed');
  const script = burnerCommand('steady', 'killed.truth', { mib: 120, hold: UNTIL_TOLD, until: word.path });
  const job = await cell.submit('gealice', ['-N', 'killed', '-l', 'h_vmem=1G'], `${script}; exit 4`);
  await cell.waitRunning(job);
  const sampler = await samplerOf(site, job);
  await hasSamples(site, job, mib(120));
  process.kill(sampler.pid, 'SIGKILL');
  await sleep(1500);
  word.give();
  await cell.waitFinished(job);
  const record = await product.record(job);
  const truth = truthOf(cell, 'gealice', 'killed.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.9);
  assert.equal(record.exit_status, 4);
  assert.equal(record.status, 'finished');
  assert.match(record.notes.join(' '), /sampler died/);
  assert.equal((await product.present(job)).length, 1);
}

const STATE = '/var/lib/qmemacct';

/** Runs jobs on a host whose state directory is under another mount. */
async function stateDirectory(site: Site, mount: (host: string) => Promise<unknown>): Promise<void> {
  const { cell, product } = site;
  const host = 'ge1';
  await mount(host);
  const jobs: string[] = [];
  try {
    for (let index = 0; index < 3; index++)
      jobs.push(
        await cell.submit('gealice', ['-q', `all.q@${host}`, '-N', `state${index}`, '-l', 'h_vmem=1G'], 'sleep 4'),
      );
    for (const job of jobs) {
      const [line] = await cell.waitFinished(job);
      assert.equal(line?.failed, '0');
      assert.ok(Number(line.ru_wallclock) <= MOST_SECONDS);
    }
    await assertQueuesWell(cell);
  } finally {
    await unmount(site, host, STATE);
  }
  await product.run(host, 'flush');
  for (const job of jobs) {
    const record = await product.record(job);
    const { samples, trust, status, notes } = record;
    assert.ok((samples ?? 0) > 0, `job ${job} was not sampled: ${samples} ${trust} ${status} ${notes.join(' ')}`);
    assert.equal(record.trust, 'root');
    assert.equal(record.status, 'finished');
    assert.equal((await product.present(job)).length, 1);
  }
}

/** Makes a directory read-only on a host by a mount of its own. */
async function mountReadOnly(site: Site, host: string, directory: string): Promise<void> {
  await site.cell.check(host, `cd / && mount --bind ${directory} ${directory}`);
  await changeMount(site, host, ['mount', '-o', 'remount,ro,bind', directory]);
}

async function unmount(site: Site, host: string, directory: string): Promise<void> {
  await changeMount(site, host, ['umount', directory]);
}

/** Whoever has a file open there, as a deliverer at work, keeps the mount busy for a while. */
async function changeMount({ cell }: Site, host: string, command: readonly string[]): Promise<void> {
  const processes = async (): Promise<string> => (await cell.on(host, ['fuser', '-vm', command.at(-1) ?? ''])).stderr;
  await until(async () => (await cell.on(host, command)).status === 0, processes, 200);
}

/** Runs jobs while the accounting DB is broken; after the fix every record is there once. */
async function accountingDb(
  site: Site,
  breakIt: () => Promise<void> | void,
  mendIt: () => Promise<void> | void,
): Promise<void> {
  const { cell, product } = site;
  await breakIt();
  const jobs: string[] = [];
  try {
    for (let index = 0; index < 4; index++)
      jobs.push(await cell.submit('gebob', ['-N', `dead${index}`, '-l', 'h_vmem=1G'], 'sleep 0.5'));
    for (const job of jobs) {
      const [line] = await cell.waitFinished(job);
      assert.equal(line?.failed, '0');
      assert.ok(Number(line.ru_wallclock) <= MOST_SECONDS);
    }
    await assertQueuesWell(cell);
    // It is really dead: what waits can't be delivered. A sampler that still tries itself leaves it for that later.
    let said = '';
    await until(
      async () => {
        const flushes = await Promise.all(cell.execHosts.map((host) => product.run(host, 'flush', '--patience', '0')));
        said = flushes.map(({ stdout }) => stdout).join('\n');
        return flushes.some(({ status }) => status === 3);
      },
      () => `a flush that can't deliver: ${said}`,
      500,
    );
  } finally {
    await mendIt();
  }
  for (const host of cell.execHosts) {
    const { status, stdout, stderr } = await product.run(host, 'flush');
    assert.equal(status, 0, `${host}: ${stdout}${stderr}`);
  }
  for (const job of jobs) {
    await product.record(job);
    assert.equal((await product.present(job)).length, 1);
  }
}

/** A process that holds the DB's write lock until it is told to let go. */
async function holdLock(path: string): Promise<() => void> {
  const module = require.resolve(SQLITE_PACKAGE);
  const program = `const D=require(${JSON.stringify(module)});const d=new D(${JSON.stringify(path)});d.exec('BEGIN EXCLUSIVE');console.log('locked');process.stdin.once('data',()=>d.exec('COMMIT')).once('end',()=>process.exit())`;
  const holder = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  await new Promise((resolve) => holder.stdout.once('data', resolve));
  return () => void holder.stdin.end('let go\n');
}

async function anotherBuild(site: Site): Promise<void> {
  const { cell, product } = site;
  const word = wordFor(cell, 'gealice', 'build');
  const script = burnerCommand('steady', 'build.truth', { mib: 90, hold: UNTIL_TOLD, until: word.path });
  const job = await cell.submit('gealice', ['-q', 'all.q@ge1', '-N', 'rebuilt', '-l', 'h_vmem=1G'], script);
  await cell.waitRunning(job);
  await samplerOf(site, job);
  const copy = join(cell.stateDir, 'another-build');
  for (const file of programFiles(PROGRAM)) cpSync(join(PROGRAM, file), join(copy, file));
  const prolog = join(copy, 'hooks', 'prolog.sh');
  writeFileSync(prolog, `${readFileSync(prolog, 'utf8')}# another build\n`);
  const words = ['install', '--node', '--yes', '--prefix', product.prefix, '--accounting', product.accounting];
  const before = await cell.check('ge1', `readlink ${product.prefix}/current`);
  const result = await cell.on('ge1', ['node', programPath('cli/main', copy), ...words]);
  assert.equal(result.status, 0, result.stderr + result.stdout);
  assert.notEqual(await cell.check('ge1', `readlink ${product.prefix}/current`), before);
  const sampled = wordFor(cell, 'gealice', 'sampled');
  const second = await cell.submit('gealice', ['-q', 'all.q@ge1', '-N', 'after', '-l', 'h_vmem=1G'], sampled.wait);
  await samplerOf(site, second);
  await until(
    () => isSampled(cell, second),
    () => `a sample of job ${second}`,
  );
  sampled.give();
  await cell.waitFinished(second);
  word.give();
  await cell.waitFinished(job);
  const record = await product.record(job);
  const truth = truthOf(cell, 'gealice', 'build.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.95);
  assert.equal(record.trust, 'root');
  assert.equal((await product.record(second)).trust, 'root');
}

async function crashedShepherd(site: Site): Promise<void> {
  const { cell, product } = site;
  // Until a while after its shepherd has gone.
  const script = 'for i in $(seq 3000); do [ -d /proc/$PPID ] || break; sleep 0.2; done; sleep 3';
  const job = await cell.submit('gebob', ['-N', 'crash', '-r', 'n', '-l', 'h_vmem=1G'], script);
  await cell.waitRunning(job);
  const sampler = await samplerOf(site, job);
  await hasSamples(site, job);
  const shepherd = cell.processes(sampler.host).find(({ command }) => command.startsWith(`sge_shepherd-${job}`));
  assert.ok(shepherd !== undefined, 'no shepherd');
  process.kill(shepherd.pid, 'SIGKILL');
  await cell.waitFinished(job);
  const record = await product.record(job);
  assert.equal(record.status, 'lost');
  assert.ok((record.samples ?? 0) > 0);
  // Grid Engine's line of it has no start.
  await until(() => cell.accounting(job).length > 0, 'the accounting line', 100);
  assert.equal((await product.run('ge1', 'import', cell.layout.accounting)).status, 0);
  const attempts = await product.present(job);
  assert.deepEqual(
    attempts.map((one) => [one.record.status, one.record.failed, one.record.samples]),
    [['lost', 19, record.samples]],
  );
  await cell.clearErrors();
}

describe('faults', () => {
  it('leave jobs undisturbed and lose nothing', limits, async (t) => {
    await withSite(t, { settings: 'delivery_patience = 2' }, async (site) => {
      const { accounting } = site.product;
      await t.test('the sampler is killed in mid-job', () => killedSampler(site));
      await t.test('the shepherd is killed: no epilog', () => crashedShepherd(site));
      await t.test('another build is installed in mid-job', () => anotherBuild(site));
      await t.test('the state directory is read-only', () =>
        stateDirectory(site, (host) => mountReadOnly(site, host, STATE)),
      );
      for (const options of ['size=64k,mode=1777', 'size=1m,mode=755'])
        await t.test(`the state directory is full (${options})`, () =>
          stateDirectory(site, (host) =>
            site.cell.check(
              host,
              `mount -t tmpfs -o ${options} none ${STATE} && mkdir -m 700 ${STATE}/run; cat /dev/zero >${STATE}/fill; true`,
            ),
          ),
        );
      await t.test('the state directory is missing', () =>
        stateDirectory(site, (host) => site.cell.check(host, `mount -t tmpfs -o size=64k,ro none ${STATE}`)),
      );
      await t.test('the accounting DB is locked for 60 s', () => {
        const begun = Date.now();
        let letGo = (): void => undefined;
        return accountingDb(
          site,
          async () => {
            letGo = await holdLock(accounting);
          },
          async () => {
            await sleep(Math.max(0, begun + 60_000 - Date.now()));
            letGo();
          },
        );
      });
      await t.test('the accounting DB is missing', () =>
        accountingDb(
          site,
          () => renameSync(join(accounting, '..'), `${join(accounting, '..')}.away`),
          () => {
            rmSync(join(accounting, '..'), { recursive: true, force: true });
            renameSync(`${join(accounting, '..')}.away`, join(accounting, '..'));
          },
        ),
      );
      await t.test('the accounting DB is read-only', () =>
        accountingDb(
          site,
          async () => {
            for (const host of site.cell.execHosts) await mountReadOnly(site, host, dirname(accounting));
          },
          async () => {
            for (const host of site.cell.execHosts) await unmount(site, host, dirname(accounting));
          },
        ),
      );
      await t.test('the accounting DB is corrupted', () => {
        const good = `${accounting}.good`;
        return accountingDb(
          site,
          () => {
            cpSync(accounting, good, { preserveTimestamps: true });
            writeFileSync(accounting, Buffer.alloc(8192, 'not a database '));
          },
          async () => {
            const { uid, gid } = await import('node:fs').then(({ statSync }) => statSync(accounting));
            renameSync(good, accounting);
            (await import('node:fs')).chownSync(accounting, uid, gid);
            chmodSync(accounting, 0o640);
          },
        );
      });
      await t.test('no queue instance is in error', () => assertQueuesWell(site.cell));
    });
  });
});
