import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { loadHostSettings } from '../../../src/record/settings';
import { restartSamplers } from '../../../src/sampler/service/restart-samplers';
import { until } from '../../support/until';
import {
  heldJob,
  it,
  letGoSampled,
  newSite,
  nodeRecord,
  quiet,
  sampledSince,
  shepherdObstacle,
  startJob,
} from '../fake-shepherd';

describe('a restarted sampler', { skip: shepherdObstacle() ?? false }, () => {
  it('goes on from the saved record where the state left for it can’t be used', async (t) => {
    const site = newSite(t);
    const hold = heldJob(site);
    const job = startJob(site, hold.command);
    await sampledSince(site, job, Date.now());
    process.kill(job.sampler() ?? 0, 'SIGKILL');
    await until(() => job.sampler() === null, 'the end of the first sampler');
    const before = nodeRecord(site, job.key);
    mkdirSync(join(site.runDir, 'resume'));
    writeFileSync(join(site.runDir, 'resume', `${job.key}.json`), '{}');
    assert.equal(restartSamplers(loadHostSettings(site.settings), site.settings), 1);
    await letGoSampled(job, hold, 500);
    await job.ended;
    await quiet(site);
    const record = nodeRecord(site, job.key);
    const notes = record.notes.join(' ');
    assert.equal(record.status, 'finished');
    assert.match(notes, /could not be used/);
    assert.match(notes, /An earlier sampler of this job died/);
    assert.ok((record.samples ?? 0) > (before.samples ?? 0), `${record.samples ?? 0} samples`);
  });
});
