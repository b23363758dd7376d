import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobPart } from '../../src/live/cluster-view';
import { hostNames } from '../../src/gridengine/host-names';
import { fullestPart, jobParts, peakOfPart, useOfPart } from '../../src/live/job-parts';
import { recordsByPart } from '../../src/live/our-figures';
import { runningJobs } from '../../src/live/running-jobs';
import type { Snapshot } from '../../src/live/snapshot';
import type { JobRecord } from '../../src/record/record';
import {
  answer,
  AT,
  detail,
  GIB,
  host,
  listed,
  MIB,
  pastUsage,
  peRows,
  peTask,
  row,
  running,
  snapshot,
  taskDetail,
  usage,
} from './snapshots';
import { RequestRules, USUAL_RULES } from '../../src/record/request-rules';
import { DEFAULT_SETTINGS } from '../../src/record/settings';
import { perOf } from '../../src/live/requests';

const LIMIT = { complex: 'h_vmem', state: 'limited', bytes: GIB } as const;

interface Circumstances {
  readonly rules?: RequestRules;
  readonly state?: string;
  readonly records?: readonly JobRecord[];
}

function parts(
  changes: Partial<Snapshot>,
  { rules = USUAL_RULES, state = 'r', records = [] }: Circumstances = {},
): readonly JobPart[] {
  const given = snapshot(changes);
  const nameOf = hostNames(given.hosts.value.map(({ name }) => name));
  const [job] = runningJobs(given, nameOf);
  assert.ok(job);
  const facts = {
    owner: 'alice',
    name: 'x',
    state,
    startedAt: null,
    limit: LIMIT,
    reserved: LIMIT,
    scoped: { master: 0, slave: 0 },
  };
  return jobParts(job, facts, {
    dialect: 'sge8.1.9',
    rules,
    perOf: perOf(rules, records),
    consumable: 'h_vmem',
    nowMs: AT,
    nameOf,
    recordsOf: recordsByPart(records, nameOf),
  });
}

const twoHosts = answer([host('a.x', { jobs: peRows(1, true, 1) }), host('b.x', { jobs: peRows(1, false, 3) })]);
const fiveSlots = answer([listed(1, 'q@a.x', { slots: 5 })]);

describe('jobParts', () => {
  it('scales the limit by the slots of each host', () => {
    const found = parts({ hosts: twoHosts, running: fiveSlots });
    assert.deepEqual(
      found.map(({ host: where, limit, reserved }) => [where, limit, reserved]),
      [
        ['a.x', 2 * GIB, 2 * GIB],
        ['b.x', 3 * GIB, 3 * GIB],
      ],
    );
  });

  it('reserves a consumable of type JOB once, but limits the processes of each host by it', () => {
    const found = parts(
      { hosts: twoHosts, running: fiveSlots },
      { rules: new RequestRules({ ...DEFAULT_SETTINGS, job_complexes: ['h_vmem'] }) },
    );
    assert.deepEqual(
      found.map(({ limit, reserved }) => [limit, reserved]),
      [
        [GIB, GIB],
        [GIB, 0],
      ],
    );
  });

  it("finds the host of a slave task by its short name or its id, and else takes the master's host", () => {
    const peTasks = [
      peTask('1.b', usage(1)),
      peTask('2.B.x', usage(2), { host: null }),
      peTask('what', usage(4), { host: null }),
      pastUsage(usage(8)),
    ];
    const found = parts({
      hosts: twoHosts,
      running: fiveSlots,
      details: answer([detail(1, [taskDetail(usage(0.5), { peTasks })])]),
    });
    assert.deepEqual(
      found.map(({ tasks, pastMaxvmem, masterMaxvmem }) => [tasks.map(({ id }) => id), pastMaxvmem, masterMaxvmem]),
      [
        [['what'], 8 * GIB, 0.5 * GIB],
        [['1.b', '2.B.x'], null, null],
      ],
    );
    // The host of the ended task is unknown.
    assert.deepEqual(found.map(peakOfPart), [4.5 * GIB, 3 * GIB]);
    assert.deepEqual(found.map(useOfPart), [4.5 * GIB, 3 * GIB]);
  });

  it('takes the part nearest to its own limit as the fullest', () => {
    const found = parts({
      hosts: twoHosts,
      running: fiveSlots,
      details: answer([
        detail(1, [taskDetail(usage(1.2), { peTasks: [peTask('1.b', usage(1.5)), pastUsage(usage(8))] })]),
      ]),
    });
    const fullest = fullestPart(found);
    // 1.2 of 2 GiB on a.x, 1.5 of 3 GiB on b.x.
    assert.deepEqual([fullest?.part.host, fullest?.peak, fullest?.share], ['a.x', 1.2 * GIB, 0.6]);
  });

  it('adds a host that only a slave task names', () => {
    const found = parts({
      running: answer([listed(1, 'q@a', { slots: 2 })]),
      details: answer([detail(1, [taskDetail(usage(1), { peTasks: [peTask('1.c', usage(1))] })])]),
    });
    assert.deepEqual(
      found.map(({ host: where, slots }) => [where, slots]),
      [
        ['a', 1],
        ['c', 1],
      ],
    );
  });

  it('calculates a trend from all records of a host against its limit there', () => {
    const rising = Array.from({ length: 30 }, (_, minute) => (minute + 1) * 10 * MIB);
    const began = new Date(AT - 30 * 60_000).toISOString();
    const series = { start: began, step_seconds: 60, rss_bytes: rising, others: {} };
    const records = [running(1, 'a', rising, { series }), running(1, 'a', rising, { series, pe_task_id: '1.a' })];
    const changes = { hosts: answer([host('a', { jobs: [row(1)] })]), running: answer([listed(1, 'q@a')]) };
    assert.equal(parts(changes, { records })[0]?.trend?.limitAt, AT + (1024 / 20 - 30) * 60_000);
    assert.equal(parts(changes, { records, state: 's' })[0]?.trend, null);
    assert.equal(parts(changes)[0]?.trend, null);
  });

  it("calculates the same trend where the host's clock is ahead", () => {
    const ahead = 12 * 60_000;
    const rising = Array.from({ length: 30 }, (_, minute) => (minute + 1) * 10 * MIB);
    const start = new Date(AT + ahead - 30 * 60_000).toISOString();
    const series = { start, step_seconds: 60, rss_bytes: rising, others: {} };
    const records = [running(1, 'a', rising, { series, started_at: start, revision: AT + ahead })];
    const changes = { hosts: answer([host('a', { jobs: [row(1)] })]), running: answer([listed(1, 'q@a')]) };
    assert.equal(parts(changes, { records })[0]?.trend?.limitAt, AT + (1024 / 10 - 30) * 60_000);
  });

  it('are none for a job on no known host', () => {
    assert.deepEqual(parts({ running: answer([listed(1, null)]) }), []);
  });
});
