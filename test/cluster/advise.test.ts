import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import { packageRoot } from '../../src/base/package-root';
import { programDigest } from '../../src/gridengine/program';
import { needing, pastJobs } from '../report/past-jobs';
import { serveOnMaster } from './serving';
import { burnerCommand, mib, withSite, type Site } from './site';

const USER = 'gealice';
const MASTER = 'ge0';
const JSV = join(packageRoot(), 'hooks', 'advise.jsv');
/** Seconds that the JSV waits for the server, for a loaded machine: after that it says nothing. */
const PATIENT = { QMEMACCT_PATIENCE: '60' };
const DAY_MS = 86_400_000;

/** Past runs on one slot that needed 300 to 400 MiB, stored by the user of the accounting DB. */
async function storePastRuns({ product }: Site): Promise<void> {
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

async function submissionsAreAdvised(site: Site): Promise<void> {
  const { cell } = site;
  await storePastRuns(site);
  const submit = (...args: readonly string[]): Promise<string> =>
    cell.submit(USER, ['-jsv', JSV, '-N', 'step_7', ...args], 'true', { env: PATIENT });
  const requested = async (job: string): Promise<string> => {
    const details = await cell.check(MASTER, ['qstat', '-j', job]);
    return /^hard[ _]resource_list:\s*(\S+)/m.exec(details)?.[1] ?? details;
  };
  // Held, so that their requests can be read before they start.
  const held = ['-h', '-l', 'h_vmem=4G'];

  let stop = await serveOnMaster(site, ['advise_submissions = "warn"']);
  // On a terminal, which shows the warning; a script reads the job number alone.
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

const SCRIPTS = { small: 60, large: 250 } as const;
/** The fewest runs that advice rests on. */
const RUNS = 3;

interface Advised {
  readonly memory: { readonly runs: number; readonly largest_bytes: number; readonly same_program: boolean } | null;
}

async function adviceByProgram({ cell, product }: Site): Promise<void> {
  const home = cell.layout.home(USER);
  const programs = new Set<string | null>();
  for (const [name, size] of Object.entries(SCRIPTS)) {
    const text = `#!/bin/sh\n#$ -N same_name -l h_vmem=1G\n${burnerCommand('steady', `${name}.truth`, { mib: size, hold: 1000 })}\n`;
    await cell.check(MASTER, `cat >~/${name}.sh`, { user: USER, stdin: text });
    const job =
      (await cell.check(MASTER, `cd; qsub -terse -t 1-${RUNS} ${name}.sh`, { user: USER })).split('.')[0] ?? '';
    const records = await product.records(job, RUNS);
    const [first, ...others] = new Set(records.map(({ record }) => record.program));
    assert.deepEqual(others, [], 'tasks of one script');
    assert.equal(first, programDigest({ script: Buffer.from(text) }, home));
    programs.add(first ?? null);
  }
  assert.equal(programs.size, 2);
  const advised = async (...words: readonly string[]): Promise<Advised['memory']> => {
    const { status, stdout, stderr } = await product.run(
      MASTER,
      ...['advise', ...words, '--owner', USER, '--risk', '20%', '--accounting', product.accounting, '--json'],
    );
    assert.equal(status, 0, stderr);
    return (JSON.parse(stdout) as Advised).memory;
  };
  const small = await advised(join(home, 'small.sh'));
  const large = await advised(join(home, 'large.sh'));
  const any = await advised('--name', 'same_name');
  assert.deepEqual([small?.runs, small?.same_program], [RUNS, true]);
  assert.deepEqual([large?.runs, large?.same_program], [RUNS, true]);
  assert.deepEqual([any?.runs, any?.same_program], [2 * RUNS, false]);
  assert.ok((small?.largest_bytes ?? Infinity) < mib(SCRIPTS.large), String(small?.largest_bytes));
  assert.ok((large?.largest_bytes ?? 0) >= mib(SCRIPTS.large), String(large?.largest_bytes));
  assert.equal(any?.largest_bytes, large?.largest_bytes);

  const command = await cell.submit(USER, ['-b', 'y', '-N', 'by_command', '/bin/sleep', '1']);
  const { program } = await product.record(command);
  assert.equal(program, programDigest({ command: '/bin/sleep' }, home));
}

describe('advice on a real Grid Engine', () => {
  it('rests on the runs that a next job is like', { timeout: 2_000_000 }, (t) =>
    withSite(t, { execHosts: 1 }, async (site) => {
      await t.test('advise tells jobs of the same name apart by their programs', () => adviceByProgram(site));
      await t.test('hooks/advise.jsv warns, rewrites requests if the site wants that, and blocks no submission', () =>
        submissionsAreAdvised(site),
      );
    }),
  );
});
