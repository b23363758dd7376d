import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  bracket,
  newPeaks,
  observe,
  observeMaxRss,
  openEnd,
  QUANTITIES,
  resolveAll,
  restorePeaks,
  SAVED_PEAKS,
  savePeaks,
  type MemoryReading,
  type PeakState,
  type Quantity,
} from '../../../src/sampler/peaks/peaks';
import { play, steps, type Rules } from '../process-histories';

const NOW = Date.UTC(2026, 10, 1);

const resolve = (state: PeakState, id: string, counts: boolean): void => resolveAll(state, new Map([[id, counts]]));

function reading(id: string, bytes: number, more: Partial<MemoryReading> = {}): MemoryReading {
  return {
    id,
    rss: bytes,
    rssSwap: bytes,
    vmem: 2 * bytes,
    anonymous: bytes,
    rssMark: bytes,
    vmemMark: 2 * bytes,
    slack: 0,
    markSlack: 0,
    pending: false,
    command: id,
    ...more,
  };
}

function lower(state: PeakState, quantity: Quantity): number | null {
  return bracket(state, quantity)?.lower_bytes ?? null;
}

function seen(...ticks: readonly (readonly MemoryReading[])[]): PeakState {
  const state = newPeaks();
  for (const [index, readings] of ticks.entries()) observe(state, readings, NOW + index);
  return state;
}

describe('peaks', () => {
  it('are unknown before a process was seen, unless something else bounds them', () => {
    for (const quantity of QUANTITIES) assert.equal(bracket(newPeaks(), quantity), null);
    // Only a process that had just ended, or a copy of the shepherd that then executed its program.
    const copy = seen([], [reading('a', 100, { pending: true })]);
    resolve(copy, 'a', false);
    for (const state of [seen([]), copy])
      for (const quantity of QUANTITIES) assert.equal(bracket(state, quantity), null);
    assert.equal(bracket(seen([]), 'rss', { bytes: 100, open: [], sources: ['exit-record'] })?.upper_bytes, 100);
  });

  it('are sums over address spaces, but the largest address space for process_vmem', () => {
    const state = seen([reading('a', 100), reading('b', 50)]);
    assert.deepEqual(
      QUANTITIES.map((quantity) => lower(state, quantity)),
      [150, 150, 300, 200, 150],
    );
  });

  it('keep the time of the largest tick and the command of its largest process', () => {
    const state = seen([reading('a', 100)], [reading('a', 70), reading('b', 80)], [reading('b', 90)]);
    assert.deepEqual(bracket(state, 'rss'), {
      lower_bytes: 150,
      upper_bytes: null,
      slack_bytes: 0,
      proved: false,
      exact: false,
      open: ['no-exit-records', 'no-lineage'],
      sources: ['sample'],
      at: new Date(NOW + 1).toISOString(),
      command: 'b',
    });
  });

  it('take the high-water mark of one address space where it is above every sum', () => {
    const state = seen([reading('a', 10, { rssMark: 500, vmemMark: 900 }), reading('b', 10)]);
    assert.equal(lower(state, 'rss'), 500);
    assert.equal(lower(state, 'rssSwap'), 500);
    assert.equal(lower(state, 'vmem'), 900);
    assert.equal(lower(state, 'processVmem'), 900);
    assert.equal(lower(state, 'footprint'), 20);
    assert.deepEqual(bracket(state, 'rss')?.sources, ['mark']);
    assert.equal(bracket(state, 'rss')?.command, 'a');
  });

  it('count only anonymous pages in the footprint', () => {
    const state = seen([reading('a', 100, { anonymous: 40 }), reading('b', 100, { anonymous: 10 })]);
    assert.equal(lower(state, 'footprint'), 50);
    assert.ok(bracket(state, 'footprint')?.open.includes('no-page-accounting'));
  });

  it('count pages that KSM has merged once in the footprint, and ask how many only where it would rise', () => {
    const state = newPeaks();
    let asked = 0;
    for (const [anonymous, merged] of [
      [40, 30],
      [60, 45],
      [20, 0],
      [10, 0],
    ] as const)
      observe(state, [reading('a', 100, { anonymous }), reading('b', 100, { anonymous: 10 })], NOW, () => {
        asked++;
        return merged;
      });
    assert.equal(lower(state, 'footprint'), 30);
    assert.equal(asked, 3);
    observe(state, [reading('c', 100, { pending: true, anonymous: 90 })], NOW, () => 50);
    resolveAll(state, new Map([['c', true]]));
    assert.equal(lower(state, 'footprint'), 40);
    assert.equal(lower(state, 'rss'), 200);
  });

  it('have no upper bound, and give each reason once', () => {
    const state = seen([reading('a', 100)]);
    openEnd(state, 'exec');
    openEnd(state, 'exec');
    for (const quantity of QUANTITIES) {
      const known = bracket(state, quantity);
      assert.equal(known?.upper_bytes, null);
      assert.equal(known.proved, false);
      assert.deepEqual(
        known.open.filter((reason) => reason !== 'no-page-accounting'),
        ['exec', 'no-exit-records', 'no-lineage'],
      );
    }
  });

  it('have the slack of each address space taken off, at most all that it holds', () => {
    const state = seen([
      reading('a', 100, { slack: 10, markSlack: 100 }),
      reading('b', 4, { slack: 10, markSlack: 100 }),
    ]);
    assert.equal(lower(state, 'rss'), 90);
    assert.equal(bracket(state, 'rss')?.slack_bytes, 14);
    assert.equal(lower(state, 'footprint'), 90);
  });

  it('have no slack for address space, which the kernel counts exactly', () => {
    const state = seen([
      reading('a', 100, { slack: 10, markSlack: 10 }),
      reading('b', 100, { slack: 10, markSlack: 10 }),
    ]);
    assert.equal(lower(state, 'vmem'), 400);
    assert.equal(bracket(state, 'vmem')?.slack_bytes, 0);
    assert.equal(lower(state, 'processVmem'), 200);
  });

  it('have the slack of a mark taken off where they rest on that mark', () => {
    const state = seen([reading('a', 10, { rssMark: 500, markSlack: 30 })]);
    assert.equal(lower(state, 'rss'), 470);
    assert.equal(bracket(state, 'rss')?.slack_bytes, 30);
  });
});

describe('images between fork and exec', () => {
  const fork = (id: string, bytes: number, more: Partial<MemoryReading> = {}): MemoryReading =>
    reading(id, bytes, { pending: true, ...more });

  it('do not count as long as their fate is unknown', () => {
    const state = seen([reading('a', 100), fork('b', 100)]);
    assert.equal(lower(state, 'rss'), 100);
    assert.equal(lower(state, 'vmem'), 200);
    assert.deepEqual([...(state.open.rss[0]?.pending.keys() ?? [])], ['b']);
  });

  it('never count once they have executed a program', () => {
    const state = seen([reading('a', 100), fork('b', 100)]);
    resolve(state, 'b', false);
    assert.equal(lower(state, 'rss'), 100);
    assert.deepEqual(state.open.rss, []);
  });

  it('count from their start if they never execute a program', () => {
    const state = seen([reading('a', 100), fork('b', 100)], [reading('a', 150)]);
    assert.equal(lower(state, 'rss'), 150);
    resolve(state, 'b', true);
    assert.equal(lower(state, 'rss'), 200);
    assert.equal(lower(state, 'rssSwap'), 200);
    assert.equal(lower(state, 'vmem'), 400);
    assert.equal(lower(state, 'footprint'), 150);
    const larger = seen([reading('a', 10), fork('b', 40), fork('c', 100)]);
    resolve(larger, 'c', true);
    assert.equal(lower(larger, 'footprint'), 100);
    assert.equal(bracket(state, 'rss')?.at, new Date(NOW).toISOString());
  });

  it('are each resolved for themselves', () => {
    const state = seen([reading('a', 100), fork('b', 60), fork('c', 50)], [reading('a', 130), fork('c', 10)]);
    resolve(state, 'b', false);
    assert.equal(lower(state, 'rss'), 130);
    resolve(state, 'c', true);
    assert.equal(lower(state, 'rss'), 150);
  });

  it('have marks that do not count before their fate is known either', () => {
    const state = seen([reading('a', 10), fork('b', 10, { rssMark: 300, vmemMark: 700 })]);
    assert.equal(lower(state, 'rss'), 10);
    assert.equal(lower(state, 'processVmem'), 20);
    const other = restorePeaks(structuredClone(savePeaks(state)));
    resolve(state, 'b', true);
    assert.equal(lower(state, 'rss'), 300);
    assert.equal(lower(state, 'processVmem'), 700);
    resolve(other, 'b', false);
    assert.equal(lower(other, 'rss'), 10);
    assert.equal(lower(other, 'processVmem'), 20);
  });

  it('bring their own slack once they count', () => {
    const state = seen([
      reading('a', 100, { slack: 10, markSlack: 10 }),
      fork('b', 100, { slack: 20, markSlack: 20, rssMark: 400 }),
      fork('c', 5, { slack: 20, markSlack: 20 }),
    ]);
    assert.equal(lower(state, 'rss'), 90);
    resolve(state, 'c', true);
    assert.equal(lower(state, 'rss'), 90);
    resolve(state, 'b', true);
    assert.equal(lower(state, 'rss'), 380);
    assert.equal(bracket(state, 'rss')?.slack_bytes, 20);
  });

  it('are forgotten where they could not raise the peak', () => {
    const state = seen([reading('a', 100), fork('b', 10)], [reading('a', 200)]);
    assert.deepEqual(state.open.rss, []);
  });

  it('leave a bounded state and a lower bound that is not too high, however many there are', () => {
    const state = newPeaks();
    // Each tick could be the largest, depending on other images: none dominates another.
    for (let index = 0; index < 200; index++)
      observe(state, [reading('a', 1000 - index), fork(`f${index}`, 10 + 3 * index)], NOW);
    for (const quantity of QUANTITIES) assert.ok(state.open[quantity].length <= 48);
    for (let index = 0; index < 200; index++) resolve(state, `f${index}`, index % 2 === 0);
    const best = lower(state, 'rss') ?? 0;
    assert.ok(best >= 1000 && best <= 1000 - 198 + 10 + 3 * 198);
  });
});

describe('ru_maxrss', () => {
  it('is, less its slack, a lower bound of RSS, with and without swap', () => {
    const state = seen([reading('a', 100)]);
    observeMaxRss(state, 400, 30);
    assert.equal(lower(state, 'rss'), 370);
    assert.equal(lower(state, 'rssSwap'), 370);
    assert.equal(lower(state, 'vmem'), 200);
    const known = bracket(state, 'rss');
    assert.deepEqual(known?.sources, ['usage']);
    assert.equal(known.at, null);
    assert.equal(known.command, null);
  });

  it('changes nothing where it is below what was seen', () => {
    const state = seen([reading('a', 100)]);
    observeMaxRss(state, 90, 0);
    observeMaxRss(state, 50, 900);
    assert.deepEqual(bracket(state, 'rss')?.sources, ['sample']);
  });
});

describe('peaks of any history of processes', () => {
  const quiet: Rules = { slack: 0, markSlack: 0, restless: false, everywhere: false };

  function assertBelow(state: PeakState, truth: Readonly<Record<Quantity, number>>): void {
    for (const quantity of QUANTITIES) {
      const known = bracket(state, quantity);
      if (known === null) continue;
      assert.equal(known.upper_bytes, null);
      assert.ok(known.open.length >= 2);
      assert.ok(known.lower_bytes >= 0);
      assert.ok(known.lower_bytes <= truth[quantity], `${quantity}: ${known.lower_bytes} of ${truth[quantity]}`);
    }
  }

  for (const [name, rules] of [
    ['exact readings', { ...quiet, restless: true }],
    ['approximate readings', { ...quiet, restless: true, slack: 4, markSlack: 6 }],
    ['exact readings and approximate marks', { ...quiet, restless: true, markSlack: 9 }],
  ] as const)
    it(`are never above the truth, with ${name}`, () => {
      fc.assert(
        fc.property(steps(60), (script) => {
          const { state, states, truth } = play(script, rules);
          assertBelow(state, truth);
          for (const earlier of states) assertBelow(earlier, truth);
        }),
        { numRuns: 2000 },
      );
    });

  it('equal the truth where every moment was seen', () => {
    fc.assert(
      fc.property(steps(25), (script) => {
        const { state, truth } = play(script, { ...quiet, everywhere: true });
        for (const quantity of ['rss', 'rssSwap', 'vmem', 'processVmem', 'footprint'] as const)
          assert.equal(lower(state, quantity), truth[quantity], quantity);
      }),
      { numRuns: 500 },
    );
  });

  it('are the same where one sampler hands over to another at every tick', () => {
    const handOver = (state: PeakState): PeakState => {
      const next = restorePeaks(SAVED_PEAKS.read(JSON.parse(JSON.stringify(savePeaks(state)))));
      assert.deepEqual(next, state);
      return next;
    };
    fc.assert(
      fc.property(steps(40), (script) => {
        const rules = { ...quiet, restless: true, slack: 3, markSlack: 5 };
        const [alone, relayed] = [play(script, rules), play(script, { ...rules, handOver })];
        for (const quantity of QUANTITIES)
          assert.deepEqual(bracket(relayed.state, quantity), bracket(alone.state, quantity));
      }),
      { numRuns: 200 },
    );
  });
});
