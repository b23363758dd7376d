import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { highestSum, type HeldValue } from '../../src/record/highest-sum';

const span = (clock: string, from: number, to: number, value: number): HeldValue => ({ clock, from, to, value });

describe('highestSum', () => {
  it('is 0 without values', () => {
    assert.equal(highestSum([]), 0);
  });

  it('adds values that overlap by one clock, with both ends included', () => {
    assert.equal(highestSum([span('a', 0, 10, 3), span('a', 5, 20, 4), span('a', 21, 30, 5)]), 7);
    assert.equal(highestSum([span('a', 0, 10, 3), span('a', 10, 20, 4)]), 7);
    assert.equal(highestSum([span('a', 0, 10, 3), span('a', 10.5, 20, 4)]), 4);
    assert.equal(highestSum([span('a', 5, 5, 3), span('a', 5, 2, 1)]), 4);
  });

  it('adds values of two clocks up to 4 s apart, but not consecutive values of one clock', () => {
    assert.equal(highestSum([span('a', 0, 10_000, 3), span('b', 14_000, 20_000, 4)]), 7);
    assert.equal(highestSum([span('a', 0, 10_000, 3), span('b', 14_001, 20_000, 4)]), 4);
    const inTurn = [span('a', 0, 10_000, 3), span('a', 10_001, 20_000, 5), span('b', 0, 20_000, 1)];
    assert.equal(highestSum(inTurn), 6);
  });

  it('allows unknown beginnings and ends', () => {
    const spans = [span('a', -Infinity, Infinity, 3), span('b', -Infinity, 10, 4), span('b', 9000, Infinity, 5)];
    assert.equal(highestSum(spans), 8);
    assert.equal(highestSum([...spans, span('a', -Infinity, Infinity, 1)]), 9);
  });

  it('is the highest sum at any moment, for one clock', () => {
    const spans = fc.array(
      fc.record({
        clock: fc.constant('a'),
        from: fc.nat({ max: 30 }),
        to: fc.nat({ max: 30 }),
        value: fc.nat({ max: 9 }),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(spans, (given) => {
        const sumAt = (moment: number): number =>
          given.reduce(
            (sum, { from, to, value }) => sum + (from <= moment && moment <= Math.max(from, to) ? value : 0),
            0,
          );
        assert.equal(highestSum(given), Math.max(0, ...Array.from({ length: 31 }, (_, moment) => sumAt(moment))));
      }),
    );
  });

  it('lies between the largest value and the sum of all, and never shrinks with a further value', () => {
    const one = fc.record({
      clock: fc.constantFrom('a', 'b', 'c'),
      from: fc.nat({ max: 30_000 }),
      to: fc.nat({ max: 30_000 }),
      value: fc.nat({ max: 1000 }),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 12 }), one, (given, more) => {
        const sum = highestSum(given);
        assert.ok(sum >= given.reduce((most, { value }) => Math.max(most, value), 0));
        assert.ok(sum <= given.reduce((all, { value }) => all + value, 0));
        assert.ok(highestSum([...given, more]) >= sum);
      }),
    );
  });
});
