import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { AskedJobs } from '../../../src/cli/job-mails/asked-jobs';
import type { ClusterFacts } from '../../../src/cli/job-mails/cluster-facts';
import { temporaryDirectory } from '../../support/temporary-directory';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const HOUR = 3_600_000;

function facts(asked: ClusterFacts['asked']): ClusterFacts {
  return { cluster: 'main', at: NOW, listed: new Set(), withPending: true, risks: [], asked };
}

const jobsOf = (owner: string, count: number): ClusterFacts['asked'] =>
  Array.from({ length: count }, (_, index) => ({ job: index + 1, owner }));

const failed = (line: string): never => assert.fail(line);

const ALICE = { job: 200_000, owner: 'alice' };

describe('jobs that ask for a mail', () => {
  it('are remembered beside 100,000 jobs of another owner', () => {
    const asked = new AskedJobs(join(temporaryDirectory(), 'asked.json'), failed);
    asked.look(facts([...jobsOf('mallory', 100_000), ALICE]), NOW);
    asked.look(facts([...jobsOf('mallory', 100_000), ALICE]), NOW);
    assert.deepEqual(
      asked.all().filter(({ owner }) => owner === 'alice'),
      [{ ...ALICE, cluster: 'main', since: NOW }],
    );
    assert.equal(asked.all().length, 2001);
  });

  it('are remembered beside 100,000 jobs of another owner in the file', () => {
    const path = join(temporaryDirectory(), 'asked.json');
    const before = jobsOf('mallory', 100_000).map((job) => ({ ...job, cluster: 'main', since: NOW }));
    writeFileSync(path, JSON.stringify(before));
    const asked = new AskedJobs(path, failed);
    asked.look(facts([ALICE]), NOW);
    assert.deepEqual(
      new AskedJobs(path, failed).all().filter(({ owner }) => owner === 'alice'),
      [{ ...ALICE, cluster: 'main', since: NOW }],
    );
  });

  it('are remembered by the next server for a day, however long they have run', () => {
    const path = join(temporaryDirectory(), 'asked.json');
    new AskedJobs(path, failed).look(facts([ALICE]), NOW - 72 * HOUR);
    const asked = new AskedJobs(path, failed);
    asked.look(facts([]), NOW);
    assert.equal(asked.all().length, 1);
    asked.look(facts([]), NOW + 25 * HOUR);
    assert.deepEqual(asked.all(), []);
  });

  it('are written once per round, however many mails were sent', () => {
    const path = join(temporaryDirectory(), 'asked.json');
    const asked = new AskedJobs(path, failed);
    asked.look(facts(jobsOf('bob', 100)), NOW);
    for (const { job } of jobsOf('bob', 50)) asked.forget('main', job);
    assert.equal(new AskedJobs(path, failed).all().length, 100);
    asked.look(facts([]), NOW);
    assert.equal(new AskedJobs(path, failed).all().length, 50);
  });

  it("cause one warning where their file can't be written, and are written when it can", () => {
    const directory = join(temporaryDirectory(), 'missing');
    const path = join(directory, 'asked.json');
    const warnings: string[] = [];
    const asked = new AskedJobs(path, (line) => warnings.push(line));
    asked.look(facts(jobsOf('bob', 100)), NOW);
    asked.look(facts([]), NOW);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /asked\.json: ENOENT.*: jobs that asked for a mail are forgotten when/);
    mkdirSync(directory);
    asked.look(facts([]), NOW);
    assert.equal(new AskedJobs(path, failed).all().length, 100);
    assert.deepEqual(warnings.slice(1), [`${path} is written again`]);
  });

  it('cause one warning where a damaged file has lost them', () => {
    const path = join(temporaryDirectory(), 'asked.json');
    writeFileSync(path, '[{"cluster":"main","job":4711,"own');
    const warnings: string[] = [];
    const asked = new AskedJobs(path, (line) => warnings.push(line));
    assert.match(
      warnings[0] ?? '',
      /asked\.json is not JSON: jobs that asked for a mail and have ended meanwhile are forgotten/,
    );
    asked.look(facts([]), NOW);
    assert.equal(warnings.length, 1);
    assert.deepEqual(new AskedJobs(path, failed).all(), []);
  });
});
