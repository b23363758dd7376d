import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { temporaryDirectory } from '../../support/temporary-directory';

const SCRIPT = join(packageRoot(), 'docs', 'examples', 'workflows', 'job-status');

const UNKNOWN = "echo 'Following jobs do not exist: \n4711' >&2; exit 1";
const AWAY = "echo 'error: commlib error: got select error (Connection refused)' >&2; exit 1";

/** What qacct prints of a job, for each of its runs. */
const lines = (...runs: readonly (readonly [failed: string, exitStatus: number])[]): string =>
  `cat <<'END'\n${runs.map(([failed, status]) => `jobnumber    4711\nfailed       ${failed}\nexit_status  ${status}\n`).join('')}END`;

const NONE = "echo 'error: job id 4711 not found' >&2; exit 1";
const AGAIN = ['25  : rescheduling', 99] as const;

/** What the script says where Grid Engine's commands do this, in a workflow's directory. */
function says(qstat: string, qacct: string, directory = temporaryDirectory()): string {
  mkdirSync(join(directory, '.snakemake'), { recursive: true });
  for (const [name, does] of Object.entries({ qstat, qacct }))
    writeFileSync(join(directory, name), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
  const env = { PATH: `${directory}:${process.env.PATH}` };
  return execFileSync(SCRIPT, ['4711'], { encoding: 'utf8', cwd: directory, env }).trim();
}

describe('docs/examples/workflows/job-status', () => {
  it('goes by the list of jobs, then by the last line of the accounting', () => {
    assert.equal(says("echo 'job_number: 4711'", lines(['0', 1])), 'running');
    assert.equal(says(UNKNOWN, lines(['0', 0])), 'success');
    assert.equal(says(UNKNOWN, lines(['0', 3])), 'failed');
    assert.equal(says(UNKNOWN, lines(['100 : assumedly after job', 137])), 'failed');
    assert.equal(says(UNKNOWN, NONE), 'running');
  });

  it('waits for the last line of a job that was rescheduled', () => {
    assert.equal(says(UNKNOWN, lines(AGAIN)), 'running');
    assert.equal(says(UNKNOWN, lines(AGAIN, ['0', 0])), 'success');
    assert.equal(says(UNKNOWN, lines(AGAIN, ['0', 99])), 'failed');
  });

  it('takes a job for one that runs while Grid Engine is away', () => {
    assert.equal(says(AWAY, lines(AGAIN)), 'running');
    assert.equal(says(AWAY, lines(['0', 1])), 'running');
  });

  it('does not wait for ever for a job that was deleted while it waited', () => {
    const directory = temporaryDirectory();
    assert.equal(says(UNKNOWN, NONE, directory), 'running');
    const [mark = ''] = readdirSync(join(directory, '.snakemake'));
    const before = Date.now() / 1000 - 660;
    utimesSync(join(directory, '.snakemake', mark), before, before);
    assert.equal(says(AWAY, NONE, directory), 'running');
    assert.equal(says(UNKNOWN, NONE, directory), 'failed');
    assert.equal(says(UNKNOWN, lines(['0', 0]), directory), 'success');
  });
});
