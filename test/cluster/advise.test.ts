import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import { packageRoot } from '../../src/base/package-root';
import { needing, pastJobs } from '../report/past-jobs';
import { serveOnMaster } from './serving';
import { withSite, type Site } from './site';

const USER = 'gealice';
const MASTER = 'ge0';
const JSV = join(packageRoot(), 'hooks', 'advise.jsv');
/** A loaded machine is no reason to be silent here. */
const PATIENT = { QMEMACCT_PATIENCE: '60' };
const DAY_MS = 86_400_000;

/** Past runs on one slot that needed 300 to 400 MiB, stored by the user of the accounting DB. */
async function remember({ product }: Site): Promise<void> {
  const { uid, gid } = statSync(dirname(product.accounting));
  process.setegid?.(gid);
  process.seteuid?.(uid);
  try {
    await storeRuns(product.accounting);
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}

async function storeRuns(path: string): Promise<void> {
  const alone = { owner: USER, slots: 1, host_slots: 1, pe: null };
  const need = (index: number): number => 0.3 + ((index * 7) % 10) / 100;
  const store = openSqliteStore(path, 0o644);
  await store.merge(pastJobs(60, (index) => ({ ...needing(need(index)), ...alone }), Date.now() - 2 * DAY_MS));
  await store.close();
}

async function verified(site: Site): Promise<void> {
  const { cell } = site;
  await remember(site);
  const submit = (...args: readonly string[]): Promise<string> =>
    cell.submit(USER, ['-jsv', JSV, '-N', 'step_7', ...args], 'true', { env: PATIENT });
  const requested = async (job: string): Promise<string> => {
    const details = await cell.check(MASTER, ['qstat', '-j', job]);
    return /^hard[ _]resource_list:\s*(\S+)/m.exec(details)?.[1] ?? details;
  };
  // What is asked for is read while they wait.
  const held = ['-h', '-l', 'h_vmem=4G'];

  let stop = await serveOnMaster(site, ['advise_submissions = "warn"']);
  // On a terminal; what a script reads is the number alone.
  const shell = `qsub -terse -jsv ${JSV} -N step_7 -h -l h_vmem=4G -b y true >number`;
  const seen = await cell.check(MASTER, ['script', '-qec', shell, '/dev/null'], { user: USER, env: PATIENT });
  assert.match(seen, /^qmemacct: h_vmem=4G is \d+ times what is needed: of 60 such runs /);
  const number = (await cell.check(MASTER, 'cat ~/number', { user: USER })).trim();
  assert.match(number, /^\d+$/);
  assert.equal(await requested(number), 'h_vmem=4G');
  await stop();

  stop = await serveOnMaster(site, ['advise_submissions = "rewrite"']);
  assert.match(await requested(await submit(...held)), /^h_vmem=(?!4G)[\d.]+[MG]$/);
  assert.equal(await requested(await submit(...held, '-ac', 'qmemacct_request=keep')), 'h_vmem=4G');
  const runs = await submit('-l', 'h_vmem=4G');
  const [record] = await cell.waitFinished(runs);
  assert.equal(record?.exit_status, '0');
  await stop();

  assert.equal(await requested(await submit(...held)), 'h_vmem=4G', 'without a server');
}

describe('hooks/advise.jsv on a real Grid Engine', () => {
  it('warns, rewrites where the site says so, and blocks nothing', { timeout: 900_000 }, (t) =>
    withSite(t, {}, verified),
  );
});
