import assert from 'node:assert/strict';
import { closeSync, constants, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { makeFifo } from '../../../src/native/libc';
import type { TickReadings } from '../../../src/sampler/processes/tick';
import { JobSampler } from '../../../src/sampler/job/job-sampler';
import type { Observation } from '../../../src/sampler/job/observation';
import { openSampleStream, STREAM, type StreamedSample } from '../../../src/sampler/series/sample-stream';
import { thisMachine } from '../../../src/sampler/peaks/slack';
import { temporaryDirectory } from '../../support/temporary-directory';

/** One sample of this process. */
function sampled(t: TestContext): readonly [TickReadings, Observation] {
  const sampler = new JobSampler(
    {
      procRoot: '/proc',
      shepherdPid: process.ppid,
      group: null,
      uid: () => null,
      notBefore: 0,
      precision: thisMachine(),
      sharesAddressSpace: () => null,
    },
    { left: 10 },
    5,
  );
  t.after(() => {
    sampler.close();
  });
  sampler.start(process.pid, Date.now() - 1000);
  return [sampler.tick(Date.now(), false), sampler.observation()];
}

function openReader(directory: string): number {
  makeFifo(join(directory, STREAM), 0o600);
  return openSync(join(directory, STREAM), constants.O_RDONLY | constants.O_NONBLOCK);
}

describe('the stream of samples', () => {
  it('has a line of JSON for each sample', (t) => {
    const directory = temporaryDirectory();
    const fd = openReader(directory);
    const [readings, observation] = sampled(t);
    const stream = openSampleStream(directory);
    stream(readings, () => observation);
    stream(readings, () => observation);
    const buffer = Buffer.alloc(10_000);
    const lines = buffer.toString('utf8', 0, readSync(fd, buffer)).trimEnd().split('\n');
    closeSync(fd);
    assert.equal(lines.length, 2);
    const line = JSON.parse(lines[0] ?? '') as StreamedSample;
    assert.equal(line.rss, readings.rss);
    assert.ok(line.rss > 1e6 && line.cpu_seconds > 0 && line.processes >= 1);
  });

  it('neither waits for its reader nor fails when the reader goes', (t) => {
    const directory = temporaryDirectory();
    const fd = openReader(directory);
    const [readings, observation] = sampled(t);
    const stream = openSampleStream(directory);
    for (let index = 0; index < 1000; index++) stream(readings, () => observation);
    const buffer = Buffer.alloc(100_000);
    const text = buffer.toString('utf8', 0, readSync(fd, buffer));
    assert.ok(text.length <= 65_536 && text.endsWith('}\n'));
    closeSync(fd);
    stream(readings, () => observation);
    stream(readings, () => observation);
  });

  it('is dropped where there is no FIFO or no reader', (t) => {
    const [readings, observation] = sampled(t);
    const directory = temporaryDirectory();
    for (const place of [null, directory]) openSampleStream(place)(readings, () => observation);
    writeFileSync(join(directory, STREAM), '');
    openSampleStream(directory)(readings, () => observation);
    const other = temporaryDirectory();
    makeFifo(join(other, STREAM), 0o600);
    openSampleStream(other)(readings, () => observation);
  });
});
