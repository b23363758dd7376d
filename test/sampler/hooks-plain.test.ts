import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { Rlimit } from '../../src/native/libc';
import {
  accountingRecord,
  heldJob,
  it,
  newSite,
  quiet,
  runSampled,
  shepherdObstacle,
  startJob,
  type Job,
} from './fake-shepherd';

const SHELLS = ['/bin/dash', '/bin/bash'].filter((shell) => existsSync(shell));
const OWNER = { uid: 65534, name: 'nobody' };
const STRANGER = 65533;
/** Too little for a sampler. */
const TINY = 50 * 1024 * 1024;

const asStranger = (...command: readonly string[]): void => {
  const { status, stderr } = spawnSync(
    'setpriv',
    [`--reuid=${STRANGER}`, `--regid=${STRANGER}`, '--clear-groups', ...command],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
};

const PLANTS = {
  link: (path: string, target: string) => asStranger('ln', '-s', target, path),
  file: (path: string) => asStranger('sh', '-c', 'echo mine >"$1"; chmod 666 "$1"', 'sh', path),
  FIFO: (path: string) => asStranger('mkfifo', '-m', '666', path),
  directory: (path: string) => asStranger('mkdir', '-m', '777', path),
} as const;

describe('a hook without root that hands over copies', { skip: shepherdObstacle() ?? false, concurrency: 2 }, () => {
  for (const shell of SHELLS)
    it(`neither follows nor overwrites a link, file, FIFO or directory of another user (${shell})`, async (t) => {
      const site = newSite(t, { armWait: 0, settings: ['accept_self_reported = true'] });
      const outbox = join(site.state, 'outbox');
      const precious = join(site.directory, 'precious');
      writeFileSync(precious, 'precious\n');
      chownSync(precious, OWNER.uid, OWNER.uid);
      chmodSync(precious, 0o600);
      const jobs: (readonly [string, Job])[] = [];
      for (const [what, plant] of Object.entries(PLANTS)) {
        const hold = heldJob(site);
        const job = startJob(site, hold.command, {
          shell,
          plain: true,
          owner: OWNER.uid,
          config: { job_owner: OWNER.name },
          shepherd: [`uid=${OWNER.uid}`, `limit=${Rlimit.AS}:${TINY}:${TINY}`],
        });
        await job.step('start');
        // The file names that another user can work out while the job runs.
        for (const name of [`${job.key}.usage.new`, `${job.key}.usage`]) plant(join(outbox, name), precious);
        hold.letGo();
        const steps = await job.ended;
        assert.deepEqual([steps.prolog?.status, steps.epilog?.status], [0, 0], what);
        assert.equal(readFileSync(precious, 'utf8'), 'precious\n', what);
        jobs.push([what, job]);
      }
      await quiet(site);
      // The next job's sampler takes in what is there.
      await runSampled(site, 100);
      for (const [what, job] of jobs) {
        const record = await accountingRecord(site, job.number);
        assert.equal(record?.owner, OWNER.name, what);
        assert.equal(record.status, 'unsampled', what);
        assert.equal(record.trust, 'self-reported', what);
        assert.equal(record.exit_status, 3, what);
      }
    });
});
