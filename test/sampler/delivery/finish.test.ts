import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { keyOfRun, readPrivateRecord, writePrivateRecord } from '../../../src/sampler/delivery/finish';
import { describeJob, undescribed } from '../../../src/sampler/job/job-description';
import { recordKeyText } from '../../../src/record/record';
import type { RunDescription } from '../../../src/sampler/job/run-description';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { sampleConfig } from '../../gridengine/spool-samples';
import { temporaryDirectory } from '../../support/temporary-directory';
import { USUAL_RULES } from '../../../src/record/request-rules';
import { recordOf } from '../../support/records';
import { runOf } from '../../support/runs';

const run = (task: number): RunDescription => runOf({ job: 1516, task, shepherdPid: 7, shepherdStart: 8 });

describe('keyOfRun', () => {
  it('names cluster, job, host and run', () => {
    const description = describeJob(sampleConfig(), run(0), USUAL_RULES);
    assert.deepEqual(keyOfRun(run(0), description, { ...DEFAULT_SETTINGS, cluster: 'north' }), {
      cluster: 'north',
      job_id: 1516,
      task_id: null,
      pe_task_id: null,
      host: 'ge1',
      run_id: '0badcafe.7.8',
    });
  });

  it('names the array task, and this host by its hostname where config is missing', () => {
    const key = keyOfRun(run(3), undescribed(3, ''), DEFAULT_SETTINGS);
    assert.equal(key.task_id, 3);
    assert.equal(key.host, hostname());
    assert.notEqual(key.cluster, '');
    assert.equal(recordKeyText(key), `${key.cluster}/1516/3//${hostname()}/0badcafe.7.8`);
  });
});

describe('the private record', () => {
  const series = {
    start: new Date(0).toISOString(),
    step_seconds: 1,
    rss_bytes: Array.from({ length: 120 }, () => 2 ** 40),
    others: {},
  };
  const record = recordOf({ series });

  it('is read as it was written, by root alone', () => {
    const directory = temporaryDirectory();
    assert.equal(readPrivateRecord(directory), null);
    writePrivateRecord(directory, record, 1e6);
    writePrivateRecord(directory, { ...record, samples: 7 }, 1e6);
    assert.deepEqual(JSON.parse(readPrivateRecord(directory) ?? ''), { ...record, samples: 7 });
    assert.deepEqual(readdirSync(directory), ['record.json']);
    assert.equal(statSync(join(directory, 'record.json')).mode & 0o777, 0o600);
  });

  it('leaves out the series, then the granted hosts, where there is no room', () => {
    const directory = temporaryDirectory();
    writePrivateRecord(directory, record, 2000);
    assert.deepEqual(JSON.parse(readPrivateRecord(directory) ?? ''), { ...record, series: null });
    const granted_hosts = Array.from({ length: 1000 }, (_, index) => ({ host: `node${index}`, slots: 4 }));
    writePrivateRecord(directory, { ...record, granted_hosts }, 2000);
    assert.deepEqual(JSON.parse(readPrivateRecord(directory) ?? ''), { ...record, series: null });
    const withHosts = { ...record, series: null, granted_hosts };
    writePrivateRecord(directory, { ...record, granted_hosts }, JSON.stringify(withHosts).length);
    assert.deepEqual(JSON.parse(readPrivateRecord(directory) ?? ''), withHosts);
  });

  it('is null where it is a directory, and needs its run directory to be written', () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'record.json'));
    assert.equal(readPrivateRecord(directory), null);
    rmSync(directory, { recursive: true });
    assert.throws(() => writePrivateRecord(directory, record, 1e6), /ENOENT/);
  });
});
