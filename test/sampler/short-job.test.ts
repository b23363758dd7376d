import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { JobRecord } from '../../src/sampler/record';
import { connectListener } from '../../src/sampler/listener/client';
import { loadSettings } from '../../src/sampler/settings';
import { bracketsObstacle } from '../burners/bracketed';
import { burner } from '../burners/build';
import { accountingRecord, newSite, quiet, shepherdObstacle, startJob } from './fake-shepherd';

const MIB = 1024 * 1024;

/** A job that has ended before its sampler begins, on a node whose listener runs. */
async function endedBeforeSampler(t: TestContext, command: readonly string[]): Promise<JobRecord> {
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-late-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const word = join(directory, 'word');
  const node = join(directory, 'node');
  const script = `#!/bin/sh\nwhile [ ! -e '${word}' ]; do sleep 0.02; done\nexec '${process.execPath}' "$@"\n`;
  writeFileSync(node, script, { mode: 0o755 });
  const site = newSite(t, { armWait: 0, conf: { node } });
  const ignore = { take: () => undefined, lost: () => undefined };
  const link = await connectListener(site.settings, loadSettings(site.settings), ignore);
  assert.ok(link !== null, 'no listener');
  const job = startJob(site, command);
  await job.step('job');
  writeFileSync(word, '');
  await job.ended;
  link.close();
  await quiet(site);
  return (await accountingRecord(site, job.number)) ?? assert.fail('no record');
}

describe('a job that was over before its sampler began', { skip: shepherdObstacle() ?? bracketsObstacle() ?? false }, () => {
  it('has the peak of its exit records, proved', async (t) => {
    const record = await endedBeforeSampler(t, [burner('steady'), '--mib=64', '--hold=0']);
    assert.equal(record.status, 'finished');
    assert.equal(record.trust, 'root');
    const { peak_rss: peak, peak_process_vmem: vmem, processes, wallclock_seconds: seconds, cpu_seconds: cpu } = record;
    assert.ok(peak !== null, 'no bracket');
    assert.ok(peak.proved, `open: ${peak.open.join(', ')}`);
    assert.ok(peak.lower_bytes >= 64 * MIB && (peak.upper_bytes ?? Infinity) < 80 * MIB, JSON.stringify(peak));
    assert.equal(peak.command, 'steady');
    assert.ok((vmem?.lower_bytes ?? 0) >= 64 * MIB);
    assert.equal(processes, 1);
    assert.ok(seconds !== null && cpu !== null);
    assert.equal(record.metrics.taskstats_unsampled_processes, 1);
  });
});
