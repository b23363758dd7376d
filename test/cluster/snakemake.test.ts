import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../src/base/package-root';
import { serveOnMaster } from './serving';
import { withSite, type Site } from './site';

const USER = 'gealice';
const MASTER = 'ge0';

/** One rule whose program needs some 300 MB and requests 200 at first. */
const SNAKEFILE = `rule large:
    output: "done.txt"
    resources: mem_mb=200
    shell: "head -c 300000000 /dev/zero | tail -c 290000000 >/dev/null && date >{output}"
`;

const EXAMPLES = join(packageRoot(), 'docs', 'examples', 'workflows');

/** Why the test can't run here; null: it can. From version 8 on, Snakemake has `--cluster` only in a plugin. */
function obstacle(): string | null {
  const { stdout, error } = spawnSync('snakemake', ['--version'], { encoding: 'utf8' });
  if (error !== undefined) return 'snakemake is not installed (Debian: apt install snakemake)';
  return Number.parseInt(stdout, 10) < 8 ? null : `snakemake ${stdout.trim()} has no --cluster`;
}

/** What qmemacct shows of the workflow's jobs: for the message of a test that fails. */
async function describeAttempts({ cell }: Site): Promise<readonly string[]> {
  const asked = ['job 1,2,3,4', ...[1, 2, 3, 4].flatMap((job) => [`job ${job} --retry`, `job ${job} --full`])];
  const answers = await Promise.all(
    asked.map(async (words) => {
      const { status, stdout, stderr } = await cell.on(MASTER, `$HOME/bin/qmemacct ${words}`, { user: USER });
      return `$ qmemacct ${words}: ${status}\n${stdout}${stderr}`;
    }),
  );
  return answers;
}

async function workflowSucceeds(site: Site): Promise<void> {
  const { cell } = site;
  const stop = await serveOnMaster(site, []);
  const home = cell.layout.home(USER);
  writeFileSync(join(home, 'Snakefile'), SNAKEFILE);
  for (const name of ['qsub-retry', 'retry-request', 'job-status']) {
    copyFileSync(join(EXAMPLES, name), join(home, name));
    chmodSync(join(home, name), 0o755);
  }
  const program = `mkdir -p bin .snakemake && ln -s ${join(packageRoot(), 'bin', 'qmemacct')} bin/qmemacct && PATH=$HOME/bin:$PATH`;
  const options = `--cluster './qsub-retry {jobid} {resources.mem_mb}' --cluster-status ./job-status --restart-times 3`;
  const command = `${program} snakemake --jobs 2 --latency-wait 60 ${options}`;
  const { status, stdout, stderr } = await cell.on(MASTER, command, { user: USER, timeoutMs: 600_000 });
  if (status !== 0) assert.fail([stdout, stderr, ...(await describeAttempts(site))].join('\n'));
  assert.match(stdout + stderr, /Trying to restart job/);
  assert.match(await cell.check(MASTER, 'cat ~/done.txt', { user: USER }), /\d/);
  await stop();
}

describe("Snakemake's retries with the example scripts, on a real Grid Engine", () => {
  it('request the memory that a job lacked, so that the workflow succeeds', { timeout: 2_000_000 }, async (t) => {
    const why = obstacle();
    if (why !== null) t.skip(why);
    else await withSite(t, {}, workflowSucceeds);
  });
});
