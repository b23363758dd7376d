import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { configureHooks } from './product';
import { assertHolds, assertQueuesWell, burnerCommand, truthOf, withSite, type Site } from './site';
import { until } from '../support/until';

const limits = { timeout: 2_000_000 };

/** A site's own hook: says what it sees, then ends as told. */
function siteHook(site: Site, name: string, body: string): string {
  const directory = join(site.cell.stateDir, 'site');
  mkdirSync(directory, { recursive: true });
  const path = join(directory, name);
  writeFileSync(path, `#!/bin/bash\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function setSiteHooks(site: Site, prolog: string, epilog: string, plain = false): Promise<void> {
  await site.product.run('ge0', 'uninstall', '--yes', '--prefix', site.product.prefix);
  await site.cell.setGlobal({ prolog, epilog });
  await configureHooks(site.cell, site.product.prefix, plain);
}

const COLLECT = (file: string): string =>
  [
    `exec 3>>"${file}.$$"`,
    'id -un >&3; pwd >&3; umask >&3; ulimit -v >&3; ulimit -n >&3; echo "$@" >&3',
    // What differs from run to run has no place in a comparison.
    'env | grep -vE "^(_|SHLVL|OLDPWD|PWD|JOB_ID|SGE_JOB_SPOOL_DIR|TMPDIR|TMP|PATH|SGE_STD|HOSTNAME|QUEUE|JOB_SCRIPT|PE_HOSTFILE)=?" | grep -E "^[A-Z]" | sort >&3',
    `mv "${file}.$$" "${file}"; chmod 666 "${file}"`,
  ].join('\n');

/**
 * What a site's hook sees with us before it must be what it sees without us. A chained hook of root is kept from what
 * 8.1.9's shepherd keeps from it; Open Cluster Scheduler's keeps nothing, not even this of execd's own.
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
  // 1: queue error and another try elsewhere; 100: job error; 99: re-queued.
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
  await assertQueuesWell(cell);

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
  await assertQueuesWell(cell);
}

/** A site prolog that takes long: ours is done, theirs runs as long as it likes; qdel meanwhile. */
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
  // Where the machine stood still the prolog was over before the job was deleted.
  if (!existsSync(join(cell.layout.home('gealice'), 'gone.begun')))
    assert.ok(gone.samples === null || gone.samples <= 2);
  await assertQueuesWell(cell);
}

async function disabled({ cell, product }: Site): Promise<void> {
  for (const host of cell.execHosts) await cell.check(host, 'touch /etc/qmemacct/disabled');
  try {
    const job = await cell.submit('gealice', [], 'sleep 0.3');
    const [line] = await cell.waitFinished(job);
    assert.equal(line?.failed, '0');
    for (const host of cell.execHosts) await product.run(host, 'flush');
    assert.deepEqual(await product.present(job), []);
  } finally {
    for (const host of cell.execHosts) await cell.check(host, 'rm /etc/qmemacct/disabled');
  }
}

async function plainHooks(site: Site): Promise<void> {
  const { cell, product } = site;
  await setSiteHooks(site, 'none', 'none', true);
  const serial = await cell.submit(
    'gebob',
    ['-N', 'plain', '-l', 'h_vmem=1G'],
    `${burnerCommand('steady', 'plain.truth', { mib: 100, hold: 3000 })}; exit 6`,
  );
  const small = await cell.submit(
    'gebob',
    ['-N', 'plainsmall', '-l', 'h_vmem=300M'],
    burnerCommand('steady', 'plainsmall.truth', { mib: 100, hold: 3000 }),
  );
  const tiny = await cell.submit(
    'gebob',
    ['-N', 'plaintiny', '-l', 'h_vmem=50M'],
    burnerCommand('steady', 'plaintiny.truth', { mib: 30, hold: 300 }),
  );
  for (const job of [serial, small, tiny]) await cell.waitFinished(job);
  await until(
    async () => {
      for (const host of cell.execHosts) {
        const flushed = await product.run(host, 'flush');
        assert.equal(flushed.status, 0, flushed.stderr);
      }
      const found = await Promise.all([serial, small, tiny].map((job) => product.present(job)));
      return found.every((records) => records.length > 0);
    },
    'the records of all three',
    500,
  );
  for (const [job, file] of [
    [serial, 'plain'],
    [small, 'plainsmall'],
    [tiny, 'plaintiny'],
  ] as const) {
    const record = await product.record(job);
    const truth = truthOf(cell, 'gebob', `${file}.truth`);
    assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.9);
    assert.equal(record.trust, 'self-reported');
    assert.equal(record.owner, 'gebob');
    assert.equal(record.status, file === 'plaintiny' ? 'unsampled' : 'finished');
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
  // The configuration of a host that has not heard yet still names our hook: it must be harmless without us.
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
  await assertQueuesWell(cell);
}

describe('hooks among others', () => {
  it("leave a site's own hooks as they were", limits, async (t) => {
    await withSite(t, { settings: 'accept_self_reported = true' }, async (site) => {
      await t.test("the owner's environment, limits, directory and arguments", () => sameSurroundings(site, ''));
      await t.test("root's", () => sameSurroundings(site, 'root'));
      await t.test("another user's", () => sameSurroundings(site, 'sgeadmin'));
      await t.test('exit statuses 1, 99 and 100', () => exitStatuses(site));
      await t.test('a slow prolog, and qdel meanwhile', () => slowProlog(site));
      await t.test('disabled', () => disabled(site));
      await t.test('without privilege', () => plainHooks(site));
      await t.test('uninstalled', () => uninstalled(site));
    });
  });
});
