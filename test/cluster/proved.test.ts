import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SETTINGS_FILE } from '../../src/record/settings';
import type { ProcessId } from './processes';
import { assertHolds, assertNoQueueErrors, burnerCommand, eventsObstacle, truthOf, withSite, type Site } from './site';
import { until } from '../support/until';

const HOST = 'ge1';
const USER = 'gealice';
/** So long that a listener would have ended without `listener_linger = inf`. */
const REST_MS = 65_000;

function listenersOf({ cell }: Site): readonly ProcessId[] {
  return cell.processes(HOST).filter(({ command }) => command.includes(`/listener/main.js ${SETTINGS_FILE} `));
}

function onlyListener(site: Site): number {
  const [one, ...more] = listenersOf(site);
  assert.ok(one !== undefined && more.length === 0, `${listenersOf(site).length} listeners`);
  return one.pid;
}

/** Asserts that the peak of a next job is proved, and holds what its burner held. */
async function assertNextProved(site: Site, name: string): Promise<void> {
  const file = `${name}.truth`;
  const script = `${burnerCommand('steady', file, { mib: 80, hold: 1500 })}; true`;
  const job = await site.cell.submit(USER, ['-q', `all.q@${HOST}`, '-N', name], script);
  await site.cell.waitFinished(job);
  const { peak_rss: peak, unobserved_start_seconds: late } = await site.product.record(job);
  assert.ok(peak?.proved, `open: ${peak?.open.join(', ') ?? 'no bracket'}; first sample after ${late ?? '?'} s`);
  const truth = truthOf(site.cell, USER, file);
  assertHolds(peak, truth.rssSum, truth.uncertainty, 0.97);
}

async function afterARest(site: Site): Promise<void> {
  const listener = onlyListener(site);
  await sleep(REST_MS);
  await assertNextProved(site, 'rested');
  assert.equal(onlyListener(site), listener);
}

/** The line of doctor that says that this listener gets the kernel's events. */
const listening = (pid: number): RegExp => new RegExp(`listener.*process ${pid} runs also between jobs, and receives`);

async function diagnosis({ product }: Site): Promise<string> {
  return (await product.run(HOST, 'doctor', '--prefix', product.prefix)).stdout;
}

/** As after a reboot: no listener runs, its directory is gone, and cron starts the hook. */
async function afterABoot(site: Site): Promise<void> {
  const { cell, product } = site;
  const before = onlyListener(site);
  process.kill(before, 'SIGKILL');
  const script = join(product.prefix, 'current', 'hooks', 'listener.sh');
  const lines = await cell.check(HOST, 'cat /etc/cron.d/qmemacct-listener');
  assert.ok(lines.includes(`@reboot root [ ! -x `) && lines.includes(`/bin/sh -p ${script} --detach`), lines);
  await cell.check(HOST, `rm -rf /run/qmemacct/listener; /bin/sh -p ${script} --detach`);
  // The process exists before it gets events; a job can be proved only once it does.
  let seen = '';
  await until(
    async () => {
      seen = await diagnosis(site);
      const now = listenersOf(site).find(({ pid }) => pid !== before);
      return (now !== undefined && listening(now.pid).test(seen)) || null;
    },
    () => `the next listener: ${seen}`,
  );
  await assertNextProved(site, 'booted');
  const after = onlyListener(site);
  // The hook that cron starts a minute later finds the listener and ends.
  await cell.check(HOST, `/bin/sh -p ${script} --detach`);
  assert.equal(onlyListener(site), after);
}

/** As no job runs, the listener need not wait for one to end. */
async function uninstalled(site: Site): Promise<void> {
  const { product } = site;
  await product.run(HOST, 'uninstall', '--node', '--yes', '--prefix', product.prefix);
  await until(() => listenersOf(site).length === 0, 'the end of the listener');
}

describe('a listener that stays, on a real Grid Engine', () => {
  it("proves each job's peak, however long no job ran before", { timeout: 2_000_000 }, async (t) => {
    const obstacle = await eventsObstacle();
    if (obstacle !== null) {
      t.skip(obstacle);
      return;
    }
    await withSite(t, { execHosts: 1, settings: 'listener_linger = inf\ndelivery_jitter_ms = 0' }, async (site) => {
      await t.test('after more than a minute without a sampler', () => afterARest(site));
      await t.test('doctor shows the listener', async () =>
        assert.match(await diagnosis(site), listening(onlyListener(site))),
      );
      await t.test('after a reboot', () => afterABoot(site));
      await t.test('uninstall ends the listener', () => uninstalled(site));
      await t.test('no queue instance is in error', () => assertNoQueueErrors(site.cell));
    });
  });
});
