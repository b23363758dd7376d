import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { configureHooks } from './product';
import { assertHolds, assertNoQueueErrors, burnerCommand, truthOf, withSite, type Site } from './site';
import { until } from '../support/until';
import { oneOf } from '../tries';

const limits = { timeout: 2_000_000 };

/** Writes a site's own hook, a bash script with this body; returns its path. */
function siteHook(site: Site, name: string, body: string): string {
  const directory = join(site.cell.stateDir, 'site');
  mkdirSync(directory, { recursive: true });
  const path = join(directory, name);
  writeFileSync(path, `#!/bin/bash\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Configures these hooks of the site and chains the product's before them. */
async function setSiteHooks(site: Site, prolog: string, epilog: string, plain = false): Promise<void> {
  await site.product.run('ge0', 'uninstall', '--yes', '--prefix', site.product.prefix);
  await site.cell.setGlobal({ prolog, epilog });
  await configureHooks(site.cell, site.product.prefix, plain);
}

const COLLECT = (file: string): string =>
  [
    `exec 3>>"${file}.$$"`,
    'id -un >&3; pwd >&3; umask >&3; ulimit -v >&3; ulimit -n >&3; echo "$@" >&3',
    // Variables that differ from run to run are not compared.
    'env | grep -vE "^(_|SHLVL|OLDPWD|PWD|JOB_ID|SGE_JOB_SPOOL_DIR|TMPDIR|TMP|PATH|SGE_STD|HOSTNAME|QUEUE|JOB_SCRIPT|PE_HOSTFILE)=?" | grep -E "^[A-Z]" | sort >&3',
    `mv "${file}.$$" "${file}"; chmod 666 "${file}"`,
  ].join('\n');

/**
 * Asserts that a site's hook sees the same behind ours as alone. ENVIRONMENT is left out for root's: ours keeps from a
 * chained hook of root what 8.1.9's shepherd keeps from it, and Open Cluster Scheduler's shepherd keeps nothing.
 */
async function sameSurroundings(site: Site, user: string): Promise<void> {
  const { cell, product } = site;
  const everyones = join(cell.stateDir, 'seen');
  mkdirSync(everyones, { recursive: true });
  chmodSync(everyones, 0o1777);
  const seen = join(everyones, user || 'owner');
  const hook = siteHook(site, `collect-${user || 'owner'}`, COLLECT(seen));
  const value = `${user === '' ? '' : `${user}@`}${hook} $job_owner $host`;
  const variables = ['-v', 'ONE=1,TWO=with blank,LD_LIBRARY_PATH=/nowhere', '-l', 'h_vmem=2G', '-q', 'all.q@ge1'];
  await product.run('ge0', 'uninstall', '--yes', '--prefix', product.prefix);
  await cell.setGlobal({ prolog: value, epilog: 'none' });
  const alone = await cell.submit('gealice', variables, 'exit 0');
  await cell.waitFinished(alone);
  const without = readFileSync(seen, 'utf8').replace(/^ENVIRONMENT=.*\n/m, user === 'root' ? '' : '$&');
  rmSync(seen);
  await configureHooks(cell, product.prefix, false);
  const together = await cell.submit('gealice', variables, 'exit 0');
  await cell.waitFinished(together);
  assert.equal(readFileSync(seen, 'utf8'), without);
  await product.record(together);
}

async function exitStatuses(site: Site): Promise<void> {
  const { cell } = site;
  // 1: queue in error, and the job runs elsewhere; 99: the job is rescheduled; 100: job in error.
  const hook = siteHook(
    site,
    'once',
    'if [ -e "$HOME/tried" ]; then exit 0; fi; touch "$HOME/tried"; exit "$(cat "$HOME/status")"',
  );
  await setSiteHooks(site, hook, 'none');
  const home = cell.layout.home('gealice');
  const submit = async (status: number): Promise<string> => {
    rmSync(join(home, 'tried'), { force: true });
    writeFileSync(join(home, 'status'), String(status));
    return cell.submit('gealice', ['-l', 'h_vmem=1G'], 'sleep 0.2');
  };
  const again = await submit(99);
  const lines = await cell.waitFinished(again);
  assert.deepEqual(
    lines.map((line) => line.failed),
    ['25', '0'],
  );
  await assertNoQueueErrors(cell);

  const broken = await submit(1);
  const tried = await cell.waitFinished(broken);
  assert.deepEqual(
    tried.map((line) => line.failed),
    ['8', '0'],
  );
  assert.equal([...(await cell.queueStates()).values()].filter((states) => states.includes('E')).length, 1);
  await cell.clearErrors();

  const held = await submit(100);
  await assert.rejects(cell.waitFinished(held));
  assert.ok((await cell.tasks()).some((task) => task.job === held && task.state.includes('E')));
  await cell.qdel([held]);
  await assertNoQueueErrors(cell);
}

/** A site's prolog that takes seconds, chained behind ours, and a job that is deleted meanwhile. */
async function slowProlog(site: Site): Promise<void> {
  const { cell, product } = site;
  const hook = siteHook(site, 'slow', ': >"$HOME/slow.$JOB_ID"; sleep 7');
  await setSiteHooks(site, hook, 'none');
  const waits = await cell.submit('gealice', ['-N', 'waits'], 'sleep 0.5');
  const deleted = await cell.submit('gealice', ['-N', 'gone'], 'touch ~/gone.begun; sleep 30');
  await until(
    () => existsSync(join(cell.layout.home('gealice'), `slow.${deleted}`)),
    () => `the prolog of ${deleted}`,
  );
  await sleep(1000);
  await cell.qdel([deleted]);
  const [line] = await cell.waitFinished(waits);
  assert.equal(line?.failed, '0');
  const record = await product.record(waits);
  assert.equal(record.exit_status, 0);
  await cell.waitFinished(deleted);
  const gone = await product.record(deleted);
  // If the machine stood still, the prolog was over before the job was deleted.
  if (!existsSync(join(cell.layout.home('gealice'), 'gone.begun')))
    assert.ok(gone.samples === null || gone.samples <= 2);
  await assertNoQueueErrors(cell);
}

/** Grid Engine starts the epilog in the job's working directory: without it, the job that ran gets into the error state. */
async function removedDirectory({ cell, product }: Site): Promise<void> {
  const directory = join(cell.layout.home('gealice'), 'removed');
  await cell.check(cell.master, `mkdir ${directory}`, { user: 'gealice' });
  const script = `cd; rmdir ${directory}; sleep 2; exit 3`;
  const job = await cell.submit('gealice', ['-wd', directory, '-o', '/dev/null', '-j', 'y'], script);
  await assert.rejects(cell.waitFinished(job), /error state/);
  const record = await product.record(job);
  assert.deepEqual([record.status, record.exit_status, record.trust], ['finished', 3, 'root']);
  await product.run('ge1', 'import');
  const { stdout } = await product.run('ge1', 'job', job);
  assert.match(stdout, /The job was over: its working directory had been/);
  assert.match(stdout, /The job had run, then its epilog failed: .*chdir/);
  await cell.qdel([job]);
  await assertNoQueueErrors(cell);
}

async function disabled({ cell, product }: Site): Promise<void> {
  for (const host of cell.execHosts) await cell.check(host, 'touch /etc/qmemacct/disabled');
  try {
    const job = await cell.submit('gealice', [], 'sleep 0.3');
    const [line] = await cell.waitFinished(job);
    assert.equal(line?.failed, '0');
    for (const host of cell.execHosts) await product.run(host, 'flush');
    assert.deepEqual(await product.currentRecords(job), []);
  } finally {
    for (const host of cell.execHosts) await cell.check(host, 'rm /etc/qmemacct/disabled');
  }
}

/** `name`: of the jobs and of their files. */
async function plainHooks(site: Site, name: string): Promise<void> {
  const { cell, product } = site;
  await setSiteHooks(site, 'none', 'none', true);
  const serial = await cell.submit(
    'gebob',
    ['-N', name, '-l', 'h_vmem=1G'],
    `${burnerCommand('steady', `${name}.truth`, { mib: 100, hold: 8000 })}; exit 6`,
  );
  const small = await cell.submit(
    'gebob',
    ['-N', `${name}small`, '-l', 'h_vmem=300M'],
    burnerCommand('steady', `${name}small.truth`, { mib: 100, hold: 8000 }),
  );
  const tiny = await cell.submit(
    'gebob',
    ['-N', `${name}tiny`, '-l', 'h_vmem=50M'],
    burnerCommand('steady', `${name}tiny.truth`, { mib: 30, hold: 300 }),
  );
  for (const job of [serial, small, tiny]) await cell.waitFinished(job);
  await until(
    async () => {
      for (const host of cell.execHosts) {
        const flushed = await product.run(host, 'flush');
        assert.equal(flushed.status, 0, flushed.stderr);
      }
      const found = await Promise.all([serial, small, tiny].map((job) => product.currentRecords(job)));
      return found.every((records) => records.length > 0);
    },
    'the records of all three',
    500,
  );
  for (const [job, file] of [
    [serial, name],
    [small, `${name}small`],
    [tiny, `${name}tiny`],
  ] as const) {
    const record = await product.record(job);
    const truth = truthOf(cell, 'gebob', `${file}.truth`);
    assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.9);
    assert.equal(record.trust, 'self-reported');
    assert.equal(record.owner, 'gebob');
    assert.equal(record.status, job === tiny ? 'unsampled' : 'finished');
  }
  const record = await product.record(serial);
  assert.equal(record.exit_status, 6);
  assert.match(record.notes.join(' '), /hooks ran as the job's owner/);
  assert.equal((await product.record(small)).sampler?.mode, 'small');
}

async function uninstalled(site: Site): Promise<void> {
  const { cell, product } = site;
  const hook = siteHook(site, 'mark', 'touch "$HOME/marked"; exit 0');
  await setSiteHooks(site, hook, 'none');
  const ours = await cell.config();
  assert.match(ours.get('prolog') ?? '', /prolog\.sh/);
  const result = await product.run('ge0', 'uninstall', '--yes', '--prefix', product.prefix);
  assert.equal(result.status, 0, result.stderr);
  const after = await cell.config();
  assert.equal(after.get('prolog'), hook);
  assert.equal((after.get('epilog') ?? 'none').toLowerCase(), 'none');
  // A host that does not know the new configuration yet still runs our hook, which must do no harm without the program.
  await configureHooks(cell, product.prefix, false);
  for (const host of cell.execHosts) {
    const removed = await product.run(host, 'uninstall', '--node', '--yes', '--prefix', product.prefix);
    assert.equal(removed.status, 0, removed.stderr);
  }
  rmSync(join(cell.layout.home('gealice'), 'marked'), { force: true });
  const job = await cell.submit('gealice', [], 'sleep 0.2');
  const [line] = await cell.waitFinished(job);
  assert.equal(line?.failed, '0');
  assert.ok(existsSync(join(cell.layout.home('gealice'), 'marked')), "the site's own hook did not run");
  await assertNoQueueErrors(cell);
}

describe("hooks chained with a site's own, on a real Grid Engine", () => {
  it("leave the site's hooks and jobs as they were", limits, async (t) => {
    await withSite(t, { settings: 'accept_self_reported = true' }, async (site) => {
      for (const [whose, user] of [
        ["the job owner's", ''],
        ["root's", 'root'],
        ["another user's", 'sgeadmin'],
      ] as const)
        await t.test(`${whose} hook sees the same environment, limits, directory and arguments`, () =>
          sameSurroundings(site, user),
        );
      await t.test("a hook's exit statuses 1, 99 and 100 have their usual effect", () => exitStatuses(site));
      await t.test('a job behind a slow prolog is recorded, also if it is deleted meanwhile', () => slowProlog(site));
      await t.test('a job that has removed its working directory is recorded to its end', () => removedDirectory(site));
      await t.test('a host where the hooks are disabled makes no record', () => disabled(site));
      await t.test('hooks that run as the job owner make self-reported records', async () => {
        // Once its job is over, execd ends such a sampler when the epilog has waited for it for some seconds.
        let tries = 0;
        await oneOf(3, () => plainHooks(site, `plain${(tries += 1)}`));
      });
      await t.test("uninstall restores the site's hooks, and hooks without the program do no harm", () =>
        uninstalled(site),
      );
    });
  });
});
