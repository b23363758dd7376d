import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import type { JobRecord } from '../../src/record/record';
import { connectListener } from '../../src/sampler/listener/client';
import { loadSettings } from '../../src/record/settings';
import { bracketsObstacle } from '../burners/bracketed';
import { burner } from '../burners/build';
import { accountingRecord, it, newSite, quiet, shepherdObstacle, startJob } from './fake-shepherd';
import { temporaryDirectory } from '../support/temporary-directory';
import { until } from '../support/until';

const MIB = 1024 * 1024;

/** Runs a job on a host with a listener; `late`: its sampler begins only after its end. */
async function runBriefly(t: TestContext, command: readonly string[], late: boolean): Promise<JobRecord> {
  const directory = temporaryDirectory();
  const go = join(directory, 'go');
  const node = join(directory, 'node');
  const script = `#!/bin/sh\nwhile [ ! -e '${go}' ]; do sleep 0.02; done\nexec '${process.execPath}' "$@"\n`;
  writeFileSync(node, script, { mode: 0o755 });
  const site = newSite(t, { armWait: late ? 0 : 1.5, conf: { node } });
  const ignore = { take: () => undefined, lost: () => undefined };
  const link = await until(() => connectListener(site.settings, loadSettings(site.settings), ignore), 'a listener');
  if (!late) writeFileSync(go, '');
  const job = startJob(site, command);
  await job.step('job');
  writeFileSync(go, '');
  await job.ended;
  link.close();
  await quiet(site);
  return (await accountingRecord(site, job.number)) ?? assert.fail('no record');
}

describe(
  'a job that ends before its sampler’s first look',
  { skip: shepherdObstacle() ?? bracketsObstacle() ?? false },
  () => {
    it('has the proved peak of its exit records where it ended before the sampler began', async (t) => {
      const record = await runBriefly(t, [burner('steady'), '--mib=64', '--hold=0'], true);
      assert.equal(record.status, 'finished');
      assert.equal(record.trust, 'root');
      const {
        peak_rss: peak,
        peak_process_vmem: vmem,
        processes,
        wallclock_seconds: seconds,
        cpu_seconds: cpu,
      } = record;
      assert.ok(peak !== null, 'no bracket');
      assert.ok(peak.proved, `open: ${peak.open.join(', ')}`);
      assert.ok(peak.lower_bytes >= 64 * MIB && (peak.upper_bytes ?? Infinity) < 80 * MIB, JSON.stringify(peak));
      assert.equal(peak.command, 'steady');
      assert.ok((vmem?.lower_bytes ?? 0) >= 64 * MIB);
      assert.equal(processes, 1);
      assert.ok(seconds !== null && cpu !== null && record.read_bytes !== null);
      assert.equal(record.metrics.taskstats_unsampled_processes, 1);
    });

    it('has a proved peak where the sampler was already waiting for it', async (t) => {
      const record = await runBriefly(t, ['/bin/true'], false);
      assert.ok(record.peak_rss !== null, 'no bracket');
      assert.ok(record.peak_rss.proved, `open: ${record.peak_rss.open.join(', ')}`);
      assert.equal(record.processes, 1);
    });
  },
);
