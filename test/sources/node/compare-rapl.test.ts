import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compareRapl } from '../../../src/sources/node/compare-rapl';

describe('compareRapl', () => {
  it('says when powercap and perf events disagree by more than 5 %', () => {
    assert.deepEqual(compareRapl(1000, 1000, 10), {
      agree: true,
      difference: 0,
      says: 'powercap 100.0 W, perf events 100.0 W: they agree within 5 %',
    });
    assert.equal(compareRapl(1000, 951, 10).agree, true);
    assert.equal(compareRapl(1000, 949, 10).agree, false);
    assert.equal(compareRapl(1000, 500, 10).says, 'powercap 100.0 W, perf events 50.0 W: they disagree by 50 %');
    assert.equal(compareRapl(0, 0, 10).agree, true);
    assert.equal(compareRapl(0, 1, 10).agree, false);
  });

  it('says nothing of too short an interval, a missing reading or a counter that began anew', () => {
    assert.equal(compareRapl(1, 2, 0.1).agree, null);
    assert.equal(compareRapl(NaN, 2, 10).agree, null);
    assert.equal(compareRapl(1, -2, 10).agree, null);
    assert.match(compareRapl(1, -2, 10).says, /^not compared: a counter began anew$/);
  });

  it('is the same the other way round', () => {
    fc.assert(
      fc.property(fc.double(), fc.double(), fc.double(), (a, b, seconds) => {
        const there = compareRapl(a, b, seconds);
        const back = compareRapl(b, a, seconds);
        assert.equal(there.agree, back.agree);
        assert.equal(there.difference, back.difference);
        assert.ok(there.difference >= 0 && there.difference <= 1);
      }),
    );
  });
});
