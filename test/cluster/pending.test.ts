import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SETTINGS_FILE } from '../../src/record/settings';
import { client } from './kind';
import { withSite, type Site } from './site';
import { COMMAND } from '../support/qmemacct';
import { until } from '../support/until';

const USER = 'gealice';
const MASTER = 'ge0';
const QMEMACCT = ['node', COMMAND] as const;

/** Waits until `qmemacct job` shows this: qmaster has a reason only after the scheduler's next run. */
async function shows({ cell }: Site, job: string, expected: RegExp): Promise<string> {
  let last = '';
  return until(
    async () => {
      const { stdout, stderr } = await cell.on(MASTER, [...QMEMACCT, 'job', job, '--full'], { user: USER });
      last = stdout + stderr;
      return expected.test(last.replace(/\s+/g, ' ')) ? last : null;
    },
    () => `${String(expected)} of job ${job}: ${last}`,
    1000,
  );
}

async function reasonsAreShown(site: Site): Promise<void> {
  const { cell, product } = site;
  const settings = `accounting = "${product.accounting}"\npoll_interval = 1\n`;
  await cell.check(MASTER, `cat >${SETTINGS_FILE} && chmod 644 ${SETTINGS_FILE}`, { stdin: settings });
  const submit = (name: string, ...args: string[]): Promise<string> =>
    cell.submit(USER, ['-N', name, '-j', 'y', ...args], 'sleep 600');

  const large = await submit('large', '-l', 'h_vmem=900000G');
  await shows(site, large, /waiting, .*more memory than any host has \(h_vmem=900000G: .* has most, .*can't start/);
  // Asked now: from the next step on the scheduler may name the quota instead.
  const { stdout } = await cell.on(MASTER, [...QMEMACCT, 'job', large, '--json'], { user: USER });
  assert.match(stdout, /"state":"waiting".*"fits_no_host":true/);

  const wide = await submit('wide', '-pe', 'mpi', '60', '-l', 'h_vmem=4G');
  await shows(site, wide, /60 slots with h_vmem=4G each, and all hosts together have 50: it can't start/);
  await cell.setQueue({ h_vmem: '6G' });
  const unqueued = await submit('unqueued', '-l', 'h_vmem=8G');
  await shows(site, unqueued, /all\.q: does not allow what the job requests \(qconf -sq\)/);
  await cell.setQueue({ h_vmem: 'INFINITY' });
  await cell.qdel([large, wide, unqueued]);

  const quotas = '{\nname few\nenabled TRUE\nlimit users gealice to h_vmem=3G\n}\n';
  const quotaFile = join(cell.stateDir, 'few.rqs');
  writeFileSync(quotaFile, quotas);
  await cell.check(MASTER, [client('qconf'), '-Arqs', quotaFile]);
  const beyond = await submit('beyond', '-l', 'h_vmem=4G');
  await shows(site, beyond, /resource quota few\/1 leaves no room for it now \(qquota -u gealice\)/);

  const held = await submit('held', '-h', '-l', 'h_vmem=1G');
  await shows(site, held, /held, .*Its owner holds it; qrls \d+ releases it\./);
  await cell.check(MASTER, ['qhold', '-h', 'o', held]);
  await shows(site, held, new RegExp(`Its owner holds it.*An operator holds it; .* qrls -h o ${held}`));

  const next = await submit('next', '-hold_jid', held, '-l', 'h_vmem=1G');
  await shows(site, next, new RegExp(`It starts after job ${held} \\(waiting\\)\\.`));

  const later = await submit('later', '-a', '203001010000', '-l', 'h_vmem=1G');
  await shows(site, later, /no earlier than 2030-01-01 00:00:00 \(qsub -a\)/);

  const failed = await cell.submit(USER, ['-N', 'failed', '-l', 'h_vmem=1G', '-o', '/proc/none/x'], 'true');
  await shows(site, failed, new RegExp(`failed to start .*can't open output file "/proc/none/x".*qmod -cj ${failed}`));
  // qmod's exit status is 1 although it succeeds.
  const cleared = await cell.on(MASTER, ['qmod', '-cj', failed], { user: USER });
  assert.match(cleared.stdout + cleared.stderr, /cleared error state/);
}

describe('qmemacct job of a pending job, on a real Grid Engine', () => {
  it('shows why the job waits', { timeout: 2_000_000 }, (t) => withSite(t, { execHosts: 1 }, reasonsAreShown));
});
