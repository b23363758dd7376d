import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseSpoolUsage } from '../../../src/gridengine/spool-usage';
import type { LineageSeen, Observation } from '../../../src/sampler/job/observation';
import { Lineage } from '../../../src/sampler/processes/lineage';
import { newPeaks, observeMaxRss, openEnd, type UpperEnd } from '../../../src/sampler/peaks/peaks';
import { newSeries } from '../../../src/sampler/series/series';
import { markSlackBytes } from '../../../src/sampler/peaks/slack';
import { NO_SUMS } from '../../../src/sampler/processes/totals';
import { upperEnds } from '../../../src/sampler/peaks/upper-end-of-record';
import type { UnknownBounds, UpperResult } from '../../../src/sampler/peaks/cap-sums';
import { exitAccount } from '../listener/events';

const MIB = 2 ** 20;
const PRECISION = { kernel: [6, 18], pageSize: 4096, cpus: 2 } as const;
const SLACK = markSlackBytes(PRECISION, 1);
const known = (bytes: number): UpperEnd => ({ bytes, open: [], sources: ['mark', 'exit-record'] });
const KNOWN: UpperResult = { rss: known(10 * MIB), vmem: known(30 * MIB), processVmem: known(20 * MIB) };

type Circumstances = Parameters<typeof upperEnds>[0];

const circumstances = (changes: Partial<Circumstances> = {}): Circumstances => ({
  usage: parseSpoolUsage('ru_maxrss=102400\nru_minflt=1000\n'),
  precision: PRECISION,
  addressSpaceLimit: 512 * MIB,
  noSwap: true,
  status: 'finished',
  ...changes,
});

function observation(lineage: LineageSeen | null): Observation {
  return {
    peaks: newPeaks(),
    series: newSeries(0),
    startMs: 0,
    firstSampleMs: 0,
    lastSampleMs: 0,
    samples: 1,
    longestGapMs: 0,
    rssByteMs: 0,
    suspendedMs: 0,
    ioLost: false,
    sums: NO_SUMS,
    maxProcesses: 1,
    maxThreads: 1,
    counts: { seen: 1, treeOnly: 0, groupOnly: 0 },
    lineage,
  };
}

interface Seen {
  /** Minor faults of all exit records. */
  readonly faults: number;
  readonly threadExits?: number;
  readonly replacer?: number | null;
  readonly whole?: boolean;
  readonly living?: number;
  readonly result?: Partial<UpperResult>;
}

/** An observation, and the bounds with which the proved upper bounds are asked for. */
function seen({ faults, threadExits = 4, replacer = 100, whole = true, living = 0, result = {} }: Seen): {
  readonly observed: Observation;
  readonly asked: UnknownBounds[];
} {
  const asked: UnknownBounds[] = [];
  const sums = { ...new Lineage(PRECISION).totals().sums, ...exitAccount({ minorFaults: faults, threadExits }) };
  return {
    asked,
    observed: observation({
      totals: { processes: 4, ended: 4, unsampled: 0, sums, whole, oomKills: { cgroup: 0, node: 0 } },
      upper: (bounds) => {
        asked.push(bounds);
        return { ...KNOWN, ...result };
      },
      replacerFaults: replacer,
      living,
    }),
  };
}

function boundsFor(what: Seen, changes: Partial<Circumstances> = {}): UnknownBounds | undefined {
  const { observed, asked } = seen(what);
  upperEnds(circumstances(changes), observed);
  return asked[0];
}

describe('the bound of programs whose high-water marks are lost', () => {
  const maxrss = 100 * MIB + SLACK;
  /** ru_minflt is 1000: whether ru_maxrss covers the processes that replaced programs. */
  const covers = (what: Seen, changes: Partial<Circumstances> = {}): boolean =>
    boundsFor(what, changes)?.othersRss === maxrss;

  it('is the address space limit, and ru_maxrss for the first process', () => {
    assert.deepEqual(boundsFor({ faults: 5000 }), {
      addressSpace: 512 * MIB,
      rootRss: maxrss,
      othersRss: Infinity,
    });
    assert.equal(boundsFor({ faults: 1000 }, { usage: null })?.rootRss, Infinity);
  });

  it('is ru_maxrss for other processes where the page faults agree exactly', () => {
    assert.ok(covers({ faults: 1000, replacer: 0 }));
    assert.ok(!covers({ faults: 1001, replacer: 0 }));
    assert.ok(!covers({ faults: 999, replacer: 0, threadExits: 4 }));
  });

  it('is ru_maxrss for other processes where the faults cannot be explained without them', () => {
    // Without the replacing process 1100 - 100 = 1000 faults, and at most two more for each of four threads.
    assert.ok(!covers({ faults: 1100, replacer: 100 }));
    assert.ok(!covers({ faults: 1100, replacer: 108 }));
    assert.ok(covers({ faults: 1100, replacer: 109 }));
    assert.ok(!covers({ faults: 1100, replacer: 109, threadExits: 5 }));
  });

  it('is not ru_maxrss where a record is missing, a process still lives, or the faults are unknown', () => {
    assert.ok(covers({ faults: 1000 }));
    assert.ok(!covers({ faults: 1000, whole: false }));
    assert.ok(!covers({ faults: 1000, living: 1 }));
    assert.ok(!covers({ faults: 1000, replacer: null }));
    assert.ok(!covers({ faults: 1000 }, { usage: parseSpoolUsage('ru_maxrss=102400\n') }));
  });
});

describe('the upper bounds of a record', () => {
  it('are the proved ones; where nothing can have been swapped out, those of RSS hold for RSS and swap', () => {
    const { observed } = seen({ faults: 1000 });
    const ends = upperEnds(circumstances(), observed);
    assert.deepEqual(
      [ends.rss, ends.rssSwap, ends.footprint].map(({ bytes }) => bytes),
      [10 * MIB, 10 * MIB, 10 * MIB],
    );
    assert.deepEqual([ends.vmem.bytes, ends.processVmem.bytes], [30 * MIB, 20 * MIB]);
    assert.deepEqual(ends.rss.sources, ['mark', 'exit-record']);
    const swapping = upperEnds(circumstances({ noSwap: false }), observed);
    assert.deepEqual([swapping.rss.bytes, swapping.rssSwap.bytes, swapping.footprint.open], [10 * MIB, null, ['swap']]);
  });

  it('are open for the reasons that the events and the sampler give', () => {
    const rss: UpperEnd = { bytes: null, open: ['exec'], sources: ['mark', 'exit-record'] };
    const vmem: UpperEnd = { ...KNOWN.vmem, sources: ['mark', 'exit-record', 'limit'] };
    const { observed } = seen({ faults: 1000, result: { rss, vmem } });
    openEnd(observed.peaks, 'fallen-mark');
    openEnd(observed.peaks, 'start-gap');
    const ends = upperEnds(circumstances(), observed);
    assert.deepEqual([ends.rss.bytes, ends.rss.open], [null, ['exec', 'fallen-mark']]);
    assert.deepEqual([ends.vmem.bytes, ends.vmem.open], [null, ['fallen-mark']]);
    assert.ok(ends.vmem.sources.includes('limit'));
    assert.ok(!ends.rss.sources.includes('limit'));
  });

  it('are all open where ru_maxrss is larger: a copy took memory before it executed a program', () => {
    for (const [mib, open] of [
      [10, []],
      [11, ['exec']],
    ] as const) {
      const { observed } = seen({ faults: 1000 });
      observeMaxRss(observed.peaks, mib * MIB + SLACK, SLACK);
      const ends = upperEnds(circumstances(), observed);
      for (const end of Object.values(ends)) assert.deepEqual(end.open, open);
      assert.equal(ends.footprint.bytes, mib === 10 ? 10 * MIB : null);
    }
  });

  it('are open where no event was ever received', () => {
    for (const { bytes, open } of Object.values(upperEnds(circumstances(), observation(null)))) {
      assert.equal(bytes, null);
      assert.ok(open.length > 0);
    }
  });
});
