import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  dueNights,
  lastNight,
  LOOK_BACK_DAYS,
  MOST_CAUGHT_UP,
  nightOf,
  parseNight,
  type NightKnown,
} from '../../../src/cli/nightly/night';

const NOW = new Date(2026, 10, 21, 3, 0);

function due(known: Readonly<Record<string, NightKnown>>): readonly (readonly string[])[] {
  const { due: nights, skipped } = dueNights(NOW, (day) => known[day] ?? 'unknown');
  return [nights.map(({ day }) => day), skipped];
}

describe('nights', () => {
  it('are whole local days', () => {
    const night = nightOf('2026-11-20');
    assert.deepEqual([night?.since, night?.until], [new Date(2026, 10, 20), new Date(2026, 10, 21)]);
    assert.equal(lastNight(NOW).day, '2026-11-20');
    for (const text of ['2026-02-30', '2026-13-01', '20-11-2026', '2026-11-20 ', '']) assert.equal(nightOf(text), null);
  });

  it('can be named with --date once they are over', () => {
    assert.equal(parseNight('2026-11-20', NOW).day, '2026-11-20');
    assert.throws(() => parseNight('2026-11-21', NOW), /not over yet; the newest is 2026-11-20/);
    assert.throws(() => parseNight('yesterday', NOW), /not a day/);
  });

  it('that are due are at first the last one, and later all that were missed', () => {
    assert.deepEqual(due({}), [['2026-11-20'], []]);
    assert.deepEqual(due({ '2026-11-19': 'settled' }), [['2026-11-20'], []]);
    assert.deepEqual(due({ '2026-11-20': 'settled' }), [[], []]);
    assert.deepEqual(due({ '2026-11-16': 'settled', '2026-11-18': 'settled' }), [
      ['2026-11-17', '2026-11-19', '2026-11-20'],
      [],
    ]);
    assert.deepEqual(due({ '2026-11-18': 'begun' }), [['2026-11-18', '2026-11-19', '2026-11-20'], []]);
  });

  it('that are due after a long gap are the newest seven; the others are named', () => {
    const [nights, skipped] = due({ '2026-11-10': 'settled' });
    assert.deepEqual([nights?.length, nights?.[0]], [MOST_CAUGHT_UP, '2026-11-14']);
    assert.deepEqual(skipped, ['2026-11-11', '2026-11-12', '2026-11-13']);
  });

  it('that followed an old night are not due where that was only asked for with --date', () => {
    assert.deepEqual(due({ '2026-11-01': 'settled by date' }), [['2026-11-20'], []]);
    assert.deepEqual(due({ '2026-11-01': 'begun by date' }), [['2026-11-20'], []]);
    assert.deepEqual(due({ '2026-11-18': 'settled', '2026-11-19': 'begun by date' }), [
      ['2026-11-19', '2026-11-20'],
      [],
    ]);
    assert.deepEqual(due({ '2026-11-18': 'settled', '2026-11-19': 'settled by date' }), [['2026-11-20'], []]);
  });

  it('that are due are few, in order, over, and not settled', () => {
    const day = fc.integer({ min: 1, max: LOOK_BACK_DAYS + 5 });
    const state = fc.constantFrom<NightKnown>('begun', 'begun by date', 'settled', 'settled by date');
    fc.assert(
      fc.property(fc.array(fc.tuple(day, state), { maxLength: 20 }), (list) => {
        const known = new Map(
          list.map(([back, what]) => [lastNight(new Date(2026, 10, 22 - back, 3)).day, what] as const),
        );
        const { due: nights, skipped } = dueNights(NOW, (one) => known.get(one) ?? 'unknown');
        assert.ok(nights.length <= MOST_CAUGHT_UP);
        assert.ok(nights.every(({ until }) => until <= NOW));
        const all = [...skipped, ...nights.map(({ day: one }) => one)];
        assert.deepEqual(all, [...new Set(all)].sort());
        assert.ok(all.every((one) => !(known.get(one) ?? '').startsWith('settled')));
      }),
    );
  });
});
