import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import { Rlimit } from '../../../src/native/libc';
import { connectListener } from '../../../src/sampler/listener/client';
import { loadSettings } from '../../../src/record/settings';
import type { JobRecord } from '../../../src/record/record';
import {
  accountingRecord,
  it,
  newSite,
  shepherdObstacle,
  startJob,
  type JobOptions,
  type Site,
} from '../fake-shepherd';
import { until } from '../../support/until';

/** Too little for any Node. */
const TINY = 50 * 1024 * 1024;
const NO_ROOM = `limit=${Rlimit.AS}:${TINY}:${TINY}`;

/** A site whose listener runs for a client that has no job. */
async function listeningSite(t: TestContext, settings: readonly string[] = []): Promise<Site> {
  const site = newSite(t, { armWait: 0, settings });
  await listen(t, site);
  return site;
}

/** Connects a client that has no job, in several tries: a busy machine may need longer than one try waits. */
async function listen(t: TestContext, site: Site): Promise<void> {
  const ignore = { take: () => undefined, lost: () => undefined };
  const link = await until(() => connectListener(site.settings, loadSettings(site.settings), ignore), 'a listener');
  t.after(() => link.close());
}

/** The DB may be half made when it is first looked at. */
const arrived = (site: Site, job: number): Promise<JobRecord> =>
  until(() => accountingRecord(site, job).catch(() => null), 'the record');

async function runTiny(site: Site, options: JobOptions = {}): Promise<JobRecord> {
  const job = startJob(site, ['/bin/sh', '-c', 'exit 3'], {
    ...options,
    shepherd: [NO_ROOM, ...(options.shepherd ?? [])],
  });
  const steps = await job.ended;
  assert.deepEqual([steps.prolog?.status, steps.epilog?.status], [0, 0]);
  const record = await arrived(site, job.number);
  assert.equal(record.status, 'unsampled');
  assert.equal(record.exit_status, 3);
  return record;
}

describe(
  'a run whose hooks had too little memory for Node',
  { skip: shepherdObstacle() ?? false, concurrency: 3 },
  () => {
    it('is recorded by the listener without another job', async (t) => {
      const site = await listeningSite(t);
      assert.equal((await runTiny(site)).trust, 'usage');
      // The second one falls into the pause after the first.
      await runTiny(site);
      await until(() => readdirSync(join(site.state, 'run')).length === 0, 'nothing left');
    });

    it('is recorded by the listener where the hooks run without root', async (t) => {
      const site = await listeningSite(t, ['accept_self_reported = true']);
      const record = await runTiny(site, {
        plain: true,
        owner: 65534,
        config: { job_owner: 'nobody' },
        shepherd: ['uid=65534'],
      });
      assert.equal(record.trust, 'self-reported');
      await until(() => readdirSync(join(site.state, 'outbox')).length === 0, 'nothing left');
    });

    it('is recorded by a listener that starts later', async (t) => {
      const site = newSite(t, { armWait: 0 });
      const job = startJob(site, ['/bin/sh', '-c', 'exit 3'], { shepherd: [NO_ROOM] });
      await job.ended;
      assert.deepEqual([...readdirSync(join(site.state, 'run'))].sort(), [job.key, 'left'].sort());
      await listen(t, site);
      assert.equal((await arrived(site, job.number)).status, 'unsampled');
    });
  },
);
