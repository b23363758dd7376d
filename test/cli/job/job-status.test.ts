import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { temporaryDirectory } from '../../support/temporary-directory';

const SCRIPT = join(packageRoot(), 'docs', 'examples', 'workflows', 'job-status');

const UNKNOWN_JOB = "echo 'Following jobs do not exist: \n4711' >&2; exit 1";
const QMASTER_AWAY = "echo 'error: commlib error: got select error (Connection refused)' >&2; exit 1";

/** A qacct that prints a line for each of these runs of a job. */
const qacctLines = (...runs: readonly (readonly [failed: string, exitStatus: number])[]): string =>
  `cat <<'END'\n${runs.map(([failed, status]) => `jobnumber    4711\nfailed       ${failed}\nexit_status  ${status}\n`).join('')}END`;

const NO_LINE = "echo 'error: job id 4711 not found' >&2; exit 1";
const RESCHEDULED = ['25  : rescheduling', 99] as const;

/** Runs the script in a workflow's directory, with this shell code as qstat and qacct. */
function jobStatus(qstat: string, qacct: string, directory = temporaryDirectory()): string {
  mkdirSync(join(directory, '.snakemake'), { recursive: true });
  for (const [name, does] of Object.entries({ qstat, qacct }))
    writeFileSync(join(directory, name), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
  const env = { PATH: `${directory}:${process.env.PATH}` };
  return execFileSync(SCRIPT, ['4711'], { encoding: 'utf8', cwd: directory, env }).trim();
}

describe('docs/examples/workflows/job-status', () => {
  it('goes by qstat, then by the last accounting line of the job', () => {
    assert.equal(jobStatus("echo 'job_number: 4711'", qacctLines(['0', 1])), 'running');
    assert.equal(jobStatus(UNKNOWN_JOB, qacctLines(['0', 0])), 'success');
    assert.equal(jobStatus(UNKNOWN_JOB, qacctLines(['0', 3])), 'failed');
    assert.equal(jobStatus(UNKNOWN_JOB, qacctLines(['100 : assumedly after job', 137])), 'failed');
    assert.equal(jobStatus(UNKNOWN_JOB, NO_LINE), 'running');
  });

  it('prints "running" for a rescheduled job until the line of its last run is there', () => {
    assert.equal(jobStatus(UNKNOWN_JOB, qacctLines(RESCHEDULED)), 'running');
    assert.equal(jobStatus(UNKNOWN_JOB, qacctLines(RESCHEDULED, ['0', 0])), 'success');
    assert.equal(jobStatus(UNKNOWN_JOB, qacctLines(RESCHEDULED, ['0', 99])), 'failed');
  });

  it('prints "running" while qmaster is away', () => {
    assert.equal(jobStatus(QMASTER_AWAY, qacctLines(RESCHEDULED)), 'running');
    assert.equal(jobStatus(QMASTER_AWAY, qacctLines(['0', 1])), 'running');
  });

  it('prints "failed" for a job that has had no accounting line for ten minutes', () => {
    const directory = temporaryDirectory();
    assert.equal(jobStatus(UNKNOWN_JOB, NO_LINE, directory), 'running');
    const [mark = ''] = readdirSync(join(directory, '.snakemake'));
    const before = Date.now() / 1000 - 660;
    utimesSync(join(directory, '.snakemake', mark), before, before);
    assert.equal(jobStatus(QMASTER_AWAY, NO_LINE, directory), 'running');
    assert.equal(jobStatus(UNKNOWN_JOB, NO_LINE, directory), 'failed');
    assert.equal(jobStatus(UNKNOWN_JOB, qacctLines(['0', 0]), directory), 'success');
  });
});
