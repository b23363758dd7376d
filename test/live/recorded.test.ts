import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { AnswerReader } from '../../src/gridengine/reading';
import { readQhost } from '../../src/gridengine/qhost/read-qhost';
import { readJobDetails } from '../../src/gridengine/qstat/read-job-details';
import { readJobList } from '../../src/gridengine/qstat/read-job-list';
import { qhostAnswer, qmemAnswerText, qstatAnswer } from '../../src/live/qmemtools';
import type { Snapshot } from '../../src/live/snapshot';
import { viewCluster } from '../../src/live/view';
import { answer, AT, GIB, MIB, snapshot } from './snapshots';
import { USUAL_RULES } from '../../src/record/request-rules';

const FIXTURES = join(__dirname, '../../../test/gridengine/fixtures/8.1.9');

function read<T>(file: string, reader: (found: (item: T) => void) => AnswerReader): readonly T[] {
  const items: T[] = [];
  const reading = reader((item) => items.push(item));
  reading.write(readFileSync(join(FIXTURES, file)));
  assert.equal(reading.end().state, 'complete');
  return items;
}

/** Answers of a real 8.1.9 cell; each host has 200 GiB of h_vmem. */
function recorded(situation: string, details: string | null): Snapshot {
  return snapshot({
    hosts: answer(read(`${situation}.qhost-F-q-j.xml`, readQhost)),
    running: answer(read(`${situation}.qstat-rs.xml`, readJobList)),
    details: answer(details === null ? [] : read(details, readJobDetails)),
  });
}

const busy = recorded('busy', 'busy.qstat-j.xml');
const options = { rules: USUAL_RULES, nowMs: AT } as const;

describe('the view of a real 8.1.9 cell', () => {
  it('splits parallel jobs by host with job_is_first_task FALSE (tight) and TRUE (first)', () => {
    const { jobs } = viewCluster(busy, [], options);
    for (const name of ['tight', 'first']) {
      const job = jobs.find((one) => one.name === name);
      assert.deepEqual(
        job?.parts.map(({ host, slots, master, tasks }) => [host, slots, master, tasks.length]),
        [
          ['ge2', 2, true, 1],
          ['ge1', 2, false, 1],
        ],
      );
    }
  });

  it('calculates the h_vmem of each host from free and requested memory', () => {
    for (const { name, capacity, slotsUsed, parts } of viewCluster(busy, [], options).hosts) {
      // qhost prints three decimals of G.
      assert.ok(capacity !== null && Math.abs(capacity - 200 * GIB) < MIB, `${name} ${capacity}`);
      assert.equal(
        slotsUsed,
        parts.reduce((sum, { slots }) => sum + slots, 0),
      );
    }
  });

  it('takes the default of the complex as the request of a job without one', () => {
    const smp = viewCluster(busy, [], options).jobs.find(({ name }) => name === 'smp');
    assert.deepEqual([smp?.slots, smp?.limit, smp?.requests[0]?.kind], [2, 2 * GIB, 'default']);
  });

  it('keeps suspended jobs and jobs that run again', () => {
    const { jobs } = viewCluster(busy, [], options);
    assert.deepEqual(
      jobs
        .filter(({ name }) => name === 'stopped' || name === 'again')
        .map(({ state, parts }) => [state, parts.length]),
      [
        ['s', 1],
        ['Rr', 1],
      ],
    );
  });

  it('knows that a host is down although qhost still describes it', () => {
    const { hosts } = viewCluster(recorded('host-down', null), [], options);
    assert.deepEqual(
      hosts.map(({ name, up, strandedMemory, parts }) => [name, up, strandedMemory, parts.length]),
      [
        ['ge1', true, 0, 3],
        ['ge2', false, 0, 7],
      ],
    );
  });

  it('is given to clients of QmemTools', () => {
    const view = viewCluster(busy, [], options);
    const qhost = qmemAnswerText(qhostAnswer(busy, view, AT));
    assert.ok(
      qhost.startsWith('{"success":true,"message":"","data":{"ge1":{"num_proc":"2","mem_total":"23.5G","jobs":{'),
    );
    assert.ok(
      qhost.includes('"4":{"jobcount":1,"master":true,"taskid":["1","3"],"jobname":"array","owner":"gealice"}'),
    );
    const qstat = qmemAnswerText(qstatAnswer(busy, view, AT));
    assert.ok(
      qstat.includes(
        '"1":{"requested_h_vmem_strval":"500M","requested_h_vmem_dblval":524288000.0,"hostname":' +
          '{"ge2":{"master":"43667456.000000","slave":"47620096.000000"},"ge1":{"slave":"68612096.000000"}}}',
      ),
    );
  });
});
