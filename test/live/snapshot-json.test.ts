import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Snapshot } from '../../src/live/snapshot';
import { plainSnapshot, snapshotFromJson, snapshotToJson } from '../../src/live/snapshot-json';

const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value));
const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(of, { nil: null });
const text = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '\u001b[2J', '\u2028'));
const kind = fc.constantFrom('hard' as const, 'soft' as const, 'default' as const);
const role = fc.constantFrom('MASTER' as const, 'SLAVE' as const, '' as const);
const usage = fc.array(fc.tuple(text, number), { maxLength: 4 }).map((entries) => new Map(entries));
const few = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(of, { maxLength: 3 });

const request = fc.record(
  { complex: text, value: text, kind, scope: fc.constantFrom('master' as const, 'slave' as const) },
  { requiredKeys: ['complex', 'value', 'kind'], noNullPrototype: true },
);

const exact = { noNullPrototype: true } as const;

const host = fc.record(
  {
    name: text,
    architecture: maybe(text),
    processors: maybe(number),
    sockets: maybe(number),
    cores: maybe(number),
    threads: maybe(number),
    load: maybe(number),
    memoryTotal: maybe(number),
    memoryUsed: maybe(number),
    swapTotal: maybe(number),
    swapUsed: maybe(number),
    processorsText: text,
    memoryTotalText: text,
    resources: few(fc.record({ name: text, dominance: text, value: text }, exact)),
    queues: few(
      fc.record(
        {
          name: text,
          type: text,
          slotsUsed: maybe(number),
          slots: maybe(number),
          slotsReserved: maybe(number),
          state: text,
        },
        exact,
      ),
    ),
    jobs: few(
      fc.record(
        {
          job: number,
          task: maybe(number),
          name: text,
          owner: text,
          state: text,
          queue: text,
          queueInstance: text,
          priority: maybe(number),
          startedAt: maybe(number),
          role,
        },
        exact,
      ),
    ),
  },
  exact,
);

const listed = fc.record(
  {
    job: number,
    tasks: maybe(text),
    name: text,
    owner: text,
    project: maybe(text),
    department: maybe(text),
    state: text,
    list: text,
    priority: maybe(number),
    startedAt: maybe(number),
    submittedAt: maybe(number),
    queueInstance: maybe(text),
    role,
    slots: maybe(number),
    requests: few(request),
    requestedPe: maybe(text),
    requestedSlots: maybe(text),
    grantedPe: maybe(text),
    cpuSeconds: maybe(number),
    memoryGbSeconds: maybe(number),
    ioGb: maybe(number),
  },
  exact,
);

const detail = fc.record(
  {
    job: number,
    name: text,
    owner: text,
    uid: text,
    group: maybe(text),
    project: maybe(text),
    department: maybe(text),
    account: maybe(text),
    submittedAt: maybe(number),
    notBefore: maybe(number),
    reservation: maybe(number),
    submitCommand: maybe(text),
    wantsMail: fc.boolean(),
    predecessors: few(number),
    taskPredecessors: few(number),
    requests: few(fc.tuple(request, maybe(number)).map(([of, amount]) => ({ ...of, amount }))),
    pe: maybe(text),
    array: fc.boolean(),
    tasks: few(
      fc.record(
        {
          task: number,
          status: maybe(number),
          startedAt: maybe(number),
          usage,
          peTasks: few(fc.record({ id: text, host: maybe(text), past: fc.boolean(), usage }, exact)),
        },
        exact,
      ),
    ),
    messages: few(text),
  },
  exact,
);

const answer = <T>(
  value: fc.Arbitrary<T>,
): fc.Arbitrary<{ at: number | null; value: T; problem: string | null; triedAt: number | null }> =>
  fc.record({ at: maybe(number), value, problem: maybe(text), triedAt: maybe(number) }, exact);

const snapshots: fc.Arbitrary<Snapshot> = fc.record(
  {
    cluster: text,
    dialect: fc.constantFrom('sge8.1.9' as const, 'ocs' as const, 'unknown' as const),
    hosts: answer(few(host)),
    running: answer(few(listed)),
    details: answer(few(detail)),
    pending: maybe(answer(few(listed))),
  },
  exact,
);

function readBack(snapshot: Snapshot): Snapshot {
  const read = snapshotFromJson(snapshotToJson(snapshot));
  assert.ok(read.ok);
  return read.value;
}

describe('a snapshot in JSON', () => {
  it('is the same when it is read back', () => {
    fc.assert(
      fc.property(snapshots, (snapshot) => {
        assert.deepStrictEqual(readBack(snapshot), snapshot);
      }),
      { numRuns: 200 },
    );
  });

  it('leaves out NaN', () => {
    const empty = { at: null, value: [], problem: null, triedAt: null };
    const job = {
      ...fc.sample(detail, { numRuns: 1, seed: 1 })[0],
      tasks: [],
    } as unknown as Snapshot['details']['value'][0];
    const task = {
      task: 1,
      status: null,
      startedAt: null,
      peTasks: [],
      usage: new Map([
        ['cpu', NaN],
        ['rss', 1],
      ]),
    };
    const snapshot: Snapshot = {
      cluster: 'c',
      dialect: 'ocs',
      hosts: empty,
      running: empty,
      details: { ...empty, value: [{ ...job, tasks: [task] }] },
      pending: null,
    };
    const read = readBack(snapshot);
    assert.deepEqual(read.details.value[0]?.tasks[0]?.usage, new Map([['rss', 1]]));
  });

  it('of a wrong form is refused with the place of the error, and changes no prototype', () => {
    const [sound] = fc.sample(snapshots, { numRuns: 1, seed: 42 });
    assert.ok(sound !== undefined);
    const plain = plainSnapshot(sound);
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [null, /the snapshot is not an object/],
      [{}, /version is not a number/],
      [{ ...plain, version: 2 }, /has version 2, known is 1/],
      [{ ...plain, cluster: 1 }, /cluster is not a string/],
      [{ ...plain, dialect: 'slurm' }, /dialect is none of sge6\.2/],
      [{ ...plain, hosts: [] }, /hosts is not an object/],
      [
        { ...plain, hosts: { at: 1, value: [{}], problem: null, triedAt: 1 } },
        /hosts\.value\[0\]\.name is not a string/,
      ],
      [{ ...plain, running: { at: '1', value: [], problem: null, triedAt: 1 } }, /running\.at is not a number/],
      [{ version: 1, __proto__: { cluster: 'inherited' } }, /cluster is not a string/],
    ];
    for (const [value, problem] of cases) {
      const read = snapshotFromJson(JSON.stringify(value));
      assert.ok(!read.ok);
      assert.match(read.error, problem);
    }
    const polluted = snapshotToJson(sound).replace('{', '{"__proto__":{"polluted":1},');
    snapshotFromJson(polluted);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });

  it('with any text in it is read or refused with a reason', () => {
    const readable = (text: string): void => {
      const read = snapshotFromJson(text);
      if (!read.ok) assert.notEqual(read.error, '');
    };
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), readable));
    fc.assert(
      fc.property(snapshots, fc.nat(), fc.string({ maxLength: 5 }), (snapshot, where, what) => {
        const json = snapshotToJson(snapshot);
        const at = where % json.length;
        readable(json.slice(0, at) + what + json.slice(at + what.length));
      }),
    );
  });

  it('is refused when it is nested too deep', () => {
    assert.equal(snapshotFromJson('['.repeat(1_000_000)).ok, false);
  });
});
