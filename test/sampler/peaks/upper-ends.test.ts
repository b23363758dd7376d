import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { SAVED_UPPER_ENDS, UpperEnds, type LifeEvent, type SweepReading } from '../../../src/sampler/peaks/upper-ends';
import type { UpperEnd } from '../../../src/sampler/peaks/peaks';
import type { UnknownBounds } from '../../../src/sampler/peaks/cap-sums';
import { lifeSteps, live } from '../life-histories';

const NOTHING_KNOWN: UnknownBounds = { addressSpace: Infinity, rootRss: Infinity, othersRss: Infinity };
const RUNS = { numRuns: 4000 };
const LAST_PID = 100_000;

const reading = (pid: number, at: number, rss: number, image = pid, forkedNoExec = false): SweepReading => ({
  pid,
  at,
  rss,
  vmem: rss * 2,
  image,
  forkedNoExec,
});
const fork = (at: number, parent: number, child: number): LifeEvent => ({
  kind: 'fork',
  at,
  parent,
  child,
  thread: parent,
});
const exec = (at: number, pid: number): LifeEvent => ({ kind: 'exec', at, pid });
const exit = (at: number, pid: number, rss: number): LifeEvent => ({
  kind: 'exit',
  at,
  pid,
  marks: { rss, vmem: rss * 2 },
  minorFaults: 0,
});

const isByLimit = ({ sources }: UpperEnd): boolean => sources.includes('limit');

function assertHolds({ bytes }: UpperEnd, truth: number, name: string): void {
  assert.ok(bytes !== null && bytes >= truth, `${name} ${bytes} < ${truth}`);
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** By how many bytes a job's upper bounds grow for each of 100,000 processes that come and go. */
function grownBy(lifeOf: (at: number, pid: number) => readonly LifeEvent[]): number {
  const ends = new UpperEnds();
  ends.setRoot(10);
  ends.addEvents([fork(1, 1, 10), exec(2, 10)]);
  const sweepAt = (begin: number): void => {
    ends.addSweep({ begin, readings: [reading(10, begin + 1, 5)] });
  };
  sweepAt(3);
  const before = heapBytes();
  let at = 10;
  for (let pid = 100; pid < LAST_PID; sweepAt(at), at += 10)
    for (const end = pid + 1000; pid < end; pid++, at += 10) ends.addEvents(lifeOf(at, pid));
  for (let rest = 0; rest < 4; rest++, at += 10) sweepAt(at);
  const grown = (heapBytes() - before) / LAST_PID;
  // Keeps `ends` alive until here.
  ends.addEvents([exit(at, 10, 5)]);
  return grown;
}

describe('upper bounds', () => {
  it('are never below the truth in any history of forks, execs and exits', () => {
    fc.assert(
      fc.property(lifeSteps(160), fc.boolean(), (script, sleepers) => {
        const { ends, truth } = live(script, { replacing: false, missingRecords: 0, missedReadings: 0, sleepers });
        const result = ends.result(NOTHING_KNOWN);
        assert.deepEqual(result.rss.open, []);
        for (const name of ['rss', 'vmem', 'processVmem'] as const) assertHolds(result[name], truth[name], name);
      }),
      RUNS,
    );
  });

  it('are never below the truth where programs replace programs and a bound for those is known', () => {
    fc.assert(
      fc.property(lifeSteps(160), fc.boolean(), (script, sleepers) => {
        const { ends, truth, replacedByRoot, replacedByOthers, largestVmem } = live(script, {
          replacing: true,
          missingRecords: 0,
          missedReadings: 0,
          sleepers,
        });
        const bounded = ends.result({ addressSpace: Infinity, rootRss: replacedByRoot, othersRss: replacedByOthers });
        assertHolds(bounded.rss, truth.rss, 'rss');
        const limited = ends.result({ addressSpace: largestVmem, rootRss: Infinity, othersRss: Infinity });
        for (const name of ['rss', 'vmem', 'processVmem'] as const) assertHolds(limited[name], truth[name], name);
      }),
      RUNS,
    );
  });

  it('are open with the reason, or not below the truth, where exit records are missing', () => {
    fc.assert(
      fc.property(lifeSteps(160), fc.integer({ min: 2, max: 5 }), fc.boolean(), (script, missingRecords, sleepers) => {
        const { ends, truth } = live(script, { replacing: false, missingRecords, missedReadings: 0, sleepers });
        const { rss } = ends.result(NOTHING_KNOWN);
        if (rss.bytes === null) assert.ok(rss.open.includes('no-exit-records'));
        else assertHolds(rss, truth.rss, 'rss');
      }),
      RUNS,
    );
  });

  it('are open with the reason, or not below the truth, where sweeps miss living processes', () => {
    fc.assert(
      fc.property(lifeSteps(160), fc.integer({ min: 2, max: 4 }), fc.boolean(), (script, missedReadings, replacing) => {
        const { ends, truth, largestVmem } = live(script, {
          replacing,
          missingRecords: 0,
          missedReadings,
          sleepers: replacing,
        });
        const bounds = { addressSpace: largestVmem, rootRss: Infinity, othersRss: Infinity };
        const { rss, vmem } = ends.result(bounds);
        if (rss.bytes === null) assert.deepEqual(rss.open, ['failed-read']);
        else assertHolds(rss, truth.rss, 'rss');
        if (vmem.bytes !== null) assertHolds(vmem, truth.vmem, 'vmem');
      }),
      RUNS,
    );
  });

  it('are open while a process lives that no sweep finds, until its exit record gives its peak', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10), fork(3, 10, 11), exec(4, 11)]);
    ends.addSweep({ begin: 5, readings: [reading(10, 6, 5)] });
    assert.deepEqual(ends.result(NOTHING_KNOWN).rss.open, ['failed-read']);
    ends.addEvents([exit(8, 11, 700)]);
    ends.addSweep({ begin: 9, readings: [reading(10, 10, 5)] });
    assert.equal(ends.result(NOTHING_KNOWN).rss.bytes, 705);
  });

  it('do not take the mark of a program for that of the program it replaced, however long ago that was read', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    const other = [fork(3, 10, 20), exec(4, 20)];
    ends.addEvents([fork(1, 1, 10), exec(2, 10), fork(2.5, 10, 11), exec(2.6, 11), ...other, exit(4.5, 20, 1000)]);
    for (const begin of [5, 15, 25]) ends.addSweep({ begin, readings: [reading(10, begin + 1, 5)] });
    ends.addEvents([exec(30, 11), exit(34, 11, 1)]);
    ends.addSweep({ begin: 35, readings: [reading(10, 36, 5)] });
    assert.equal(ends.result({ ...NOTHING_KNOWN, addressSpace: 500 }).rss.bytes, 1505);
  });

  it('are open for a program that was being replaced when its process was killed, unless something bounds it', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10)]);
    ends.addSweep({ begin: 3, readings: [reading(10, 4, 50)] });
    ends.addEvents([exit(8, 10, 1)]);
    ends.addSweep({ begin: 9, readings: [] });
    assert.deepEqual(ends.result(NOTHING_KNOWN).rss.open, ['exec']);
    assert.equal(ends.result({ ...NOTHING_KNOWN, rootRss: 900 }).rss.bytes, 900);
  });

  it('do not add up processes that never lived at the same time', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10)]);
    ends.addSweep({ begin: 3, readings: [reading(10, 4, 5)] });
    for (let child = 0; child < 50; child++) {
      const at = 10 + child * 4;
      ends.addEvents([fork(at, 10, 20 + child), exec(at + 1, 20 + child), exit(at + 2, 20 + child, 100)]);
    }
    ends.addSweep({ begin: 300, readings: [reading(10, 301, 5)] });
    assert.equal(ends.result(NOTHING_KNOWN).rss.bytes, 105);
  });

  it('do not count the image of a large parent that a helper shows between fork and exec', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10)]);
    ends.addSweep({ begin: 3, readings: [reading(10, 4, 1000)] });
    ends.addEvents([fork(5, 10, 11)]);
    // The sweep meets the helper before its exec.
    ends.addSweep({ begin: 6, readings: [reading(10, 7, 1000), reading(11, 8, 1000, 10, true)] });
    ends.addEvents([exec(9, 11)]);
    ends.addSweep({ begin: 10, readings: [reading(10, 11, 1000), reading(11, 12, 7)] });
    ends.addEvents([exit(13, 11, 7)]);
    ends.addSweep({ begin: 14, readings: [reading(10, 15, 1000)] });
    assert.equal(ends.result(NOTHING_KNOWN).rss.bytes, 1007);
  });

  it('count a copy that had memory of its own, or that nobody looked at, before it executed a program', () => {
    const { parent, child } = { parent: fork(1, 1, 10), child: fork(5, 10, 11) };
    const begun = (...events: readonly LifeEvent[]): UpperEnds => {
      const ends = new UpperEnds();
      ends.setRoot(10);
      ends.addEvents([parent, ...events]);
      return ends;
    };
    const seen = begun(exec(2, 10), child);
    for (const begin of [6, 16, 26, 36]) {
      const copy = { ...reading(11, begin + 2, 700, 10, true), ownMemory: begin > 6 };
      seen.addSweep({ begin, readings: [reading(10, begin + 1, 1000), copy] });
    }
    seen.addEvents([exec(40, 11), exit(41, 11, 7)]);
    for (const begin of [46, 56, 66]) seen.addSweep({ begin, readings: [reading(10, begin + 1, 1000)] });
    assert.deepEqual(seen.result(NOTHING_KNOWN).rss.open, ['exec']);
    assert.equal(seen.result({ ...NOTHING_KNOWN, rootRss: 1100, othersRss: 1100 }).rss.bytes, 2100);
    assert.equal(seen.result({ ...NOTHING_KNOWN, addressSpace: 1500 }).processVmem.bytes, 2000);

    const unseen = begun(exec(2, 10), child, exec(2_000_005, 11), exit(2_000_006, 11, 7));
    unseen.addSweep({ begin: 3_000_000, readings: [reading(10, 3_000_001, 1000)] });
    assert.deepEqual(unseen.result(NOTHING_KNOWN).rss.open, ['exec']);

    const slow = begun(exec(2_000_001, 10));
    slow.addSweep({ begin: 3_000_000, readings: [reading(10, 3_000_001, 1000)] });
    assert.equal(slow.result(NOTHING_KNOWN).rss.bytes, 1000);
  });

  it('count a copy that never executes a program', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10), fork(5, 10, 11), exit(6, 11, 900)]);
    ends.addSweep({ begin: 7, readings: [reading(10, 8, 1000)] });
    assert.equal(ends.result(NOTHING_KNOWN).rss.bytes, 1900);
  });

  it('count a replaced program at its bound, without adding its successor', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10), exec(3, 10)]);
    ends.addSweep({ begin: 4, readings: [reading(10, 5, 500)] });
    assert.equal(ends.result(NOTHING_KNOWN).rss.bytes, null);
    assert.deepEqual(ends.result(NOTHING_KNOWN).rss.open, ['exec']);
    assert.equal(ends.result({ ...NOTHING_KNOWN, rootRss: 520 }).rss.bytes, 520);
    const limited = ends.result({ ...NOTHING_KNOWN, addressSpace: 4000 });
    assert.deepEqual([limited.rss.bytes, isByLimit(limited.rss)], [4000, true]);
    assert.equal(limited.processVmem.bytes, 4000);
  });

  it('rest on the limit only where the highest sum does', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10), exec(3, 10)]);
    for (let begin = 4; begin < 40; begin += 4) ends.addSweep({ begin, readings: [reading(10, begin + 1, 500)] });
    const early = ends.result({ ...NOTHING_KNOWN, addressSpace: 4000 });
    assert.deepEqual([early.rss.bytes, isByLimit(early.rss), isByLimit(early.vmem)], [4000, true, true]);
    ends.addEvents([fork(41, 10, 11), exec(42, 11)]);
    for (let begin = 44; begin < 80; begin += 4)
      ends.addSweep({ begin, readings: [reading(10, begin + 1, 500), reading(11, begin + 1, 3900)] });
    const later = ends.result({ ...NOTHING_KNOWN, addressSpace: 4000 });
    assert.deepEqual([later.rss.bytes, isByLimit(later.rss)], [4400, false]);
    assert.deepEqual([later.vmem.bytes, isByLimit(later.vmem)], [8800, false]);
    assert.deepEqual([later.processVmem.bytes, isByLimit(later.processVmem)], [7800, false]);
  });

  it('are open until a sweep has read every living process', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10), fork(3, 10, 11), exec(4, 11)]);
    ends.addSweep({ begin: 5, readings: [reading(10, 6, 500)] });
    assert.deepEqual(ends.result(NOTHING_KNOWN).rss.open, ['failed-read']);
    ends.addSweep({ begin: 7, readings: [reading(10, 8, 500), reading(11, 8, 700)] });
    assert.equal(ends.result(NOTHING_KNOWN).rss.bytes, 1200);
  });

  it('are open where the first process is older than the events, or where a process has no known origin', () => {
    const late = new UpperEnds();
    late.setRoot(10);
    late.addSweep({ begin: 2, readings: [reading(10, 3, 5)] });
    assert.deepEqual(late.result(NOTHING_KNOWN).rss.open, ['start-gap']);
    const gone = new UpperEnds();
    gone.setRoot(10);
    gone.addSweep({ begin: 2, readings: [] });
    assert.deepEqual(
      [gone.result(NOTHING_KNOWN).rss.bytes, gone.result(NOTHING_KNOWN).rss.open],
      [null, ['start-gap']],
    );
    const foreign = new UpperEnds();
    foreign.setRoot(10);
    foreign.addEvents([fork(1, 1, 10), exec(2, 10)]);
    foreign.addSweep({ begin: 3, readings: [reading(10, 4, 5)] });
    foreign.addSweep({ begin: 6, readings: [reading(10, 7, 5), reading(77, 8, 9)] });
    assert.deepEqual(foreign.result(NOTHING_KNOWN).rss.open, ['unknown-origin']);
  });

  it('are open after a hand-over to a successor that missed the events in between', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10)]);
    ends.addSweep({ begin: 3, readings: [reading(10, 4, 5)] });
    const successor = new UpperEnds(SAVED_UPPER_ENDS.read(JSON.parse(JSON.stringify(ends.save()))));
    assert.deepEqual(successor.result(NOTHING_KNOWN).rss.open, ['listener-lost']);
  });

  it('count a program at its bound that an exec took away before its last reading, however late the event arrives', () => {
    const bounds = { ...NOTHING_KNOWN, rootRss: 500 };
    const large = [fork(2, 10, 20), exec(3, 20), exit(5, 20, 1000)];
    // The process is read for the first time just after its exec began: the event comes after the reading.
    const first = new UpperEnds();
    first.setRoot(10);
    first.addEvents([fork(1, 1, 10), exec(1.5, 10), ...large, exec(9, 10)]);
    first.addSweep({ begin: 7, readings: [reading(10, 8, 1, 3)] });
    first.addSweep({ begin: 20, readings: [reading(10, 21, 1, 4)] });
    assert.equal(first.result(bounds).rss.bytes, 1500);
    // A sweep sees the new program before the event arrives: its exec may have begun before the sweep before that.
    const slow = new UpperEnds();
    slow.setRoot(10);
    slow.addEvents([fork(1, 1, 10), exec(1.5, 10), ...large]);
    slow.addSweep({ begin: 7, readings: [reading(10, 8, 1, 2)] });
    slow.addSweep({ begin: 9, readings: [reading(10, 10, 1, 3)] });
    slow.addEvents([exec(12, 10)]);
    slow.addSweep({ begin: 20, readings: [reading(10, 21, 1, 4)] });
    assert.equal(slow.result(bounds).rss.bytes, 1500);
  });

  it('count a copy that was being made when the last sweep began', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10), fork(2, 10, 20), exec(3, 20), exit(8, 20, 5000)]);
    ends.addSweep({ begin: 9, readings: [reading(10, 10, 1000)] });
    ends.addEvents([fork(11, 10, 21), exit(12, 21, 1000)]);
    ends.addSweep({ begin: 20, readings: [reading(10, 21, 1000)] });
    assert.equal(ends.result(NOTHING_KNOWN).rss.bytes, 7000);
  });

  it('take a process that ends and one that begins at the same moment to have lived together', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10), fork(3, 10, 20), exec(4, 20), exit(5, 20, 100), fork(5, 10, 21)]);
    ends.addEvents([exec(6, 21), exit(7, 21, 100)]);
    ends.addSweep({ begin: 9, readings: [reading(10, 10, 1)] });
    assert.equal(ends.result(NOTHING_KNOWN).rss.bytes, 201);
  });

  it('do not remember processes that ended after each had replaced a program', () => {
    const grown = grownBy((at, pid) => [fork(at, 10, pid), exec(at + 1, pid), exec(at + 2, pid), exit(at + 3, pid, 1)]);
    assert.ok(grown < 7, `${grown} bytes a process`);
  });

  it('do not remember threads that forked long ago', () => {
    const grown = grownBy((at, pid) => [{ ...fork(at, 10, pid), thread: pid + 1e6 }, exit(at + 1, pid, 1)]);
    assert.ok(grown < 7, `${grown} bytes a process`);
  });

  it('let a copy begin no earlier than the fork before it of the same thread', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10), fork(3, 10, 20), exec(4, 20)]);
    for (const begin of [5, 10, 20])
      ends.addSweep({ begin, readings: [reading(10, begin + 0.1, 1), reading(20, begin + 0.2, 1000)] });
    ends.addEvents([exit(21, 20, 1000), fork(22, 10, 21), exec(23, 21), exit(24, 21, 0)]);
    ends.addSweep({ begin: 30, readings: [reading(10, 30.1, 1)] });
    ends.addEvents([fork(31, 10, 22), exit(32, 22, 500)]);
    ends.addSweep({ begin: 40, readings: [reading(10, 40.1, 1)] });
    assert.equal(ends.result(NOTHING_KNOWN).rss.bytes, 1001);
  });

  it('do not count the processes of other jobs', () => {
    const ends = new UpperEnds();
    ends.setRoot(10);
    ends.addEvents([fork(1, 1, 10), exec(2, 10), fork(2, 1, 50), exec(3, 50), fork(3, 50, 51), exit(4, 51, 9999)]);
    ends.addSweep({ begin: 5, readings: [reading(10, 6, 5)] });
    assert.equal(ends.result(NOTHING_KNOWN).rss.bytes, 5);
  });
});
