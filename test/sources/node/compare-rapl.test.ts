import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { raplDisagreement } from '../../../src/sources/node/compare-rapl';

describe('raplDisagreement', () => {
  it('says when powercap and perf events disagree by more than 5 %', () => {
    for (const perf of [1000, 951]) assert.equal(raplDisagreement(1000, perf, 10), null);
    assert.equal(raplDisagreement(1000, 949, 10), 'powercap 100.0 W, perf events 94.9 W: they disagree by 5 %');
    assert.equal(raplDisagreement(1000, 500, 10), 'powercap 100.0 W, perf events 50.0 W: they disagree by 50 %');
    assert.equal(raplDisagreement(0, 0, 10), null);
    assert.equal(raplDisagreement(0, 1, 10), 'powercap 0.0 W, perf events 0.1 W: they disagree by 100 %');
  });

  it('says nothing for a short interval, a missing reading or a counter that was reset', () => {
    for (const [powercap, perf, seconds] of [
      [1, 2, 0.1],
      [1, 2, NaN],
      [null, 2, 10],
      [NaN, 2, 10],
      [1, -2, 10],
      [1, Infinity, 10],
    ] as const)
      assert.equal(raplDisagreement(powercap, perf, seconds), null);
  });

  it('finds the same with both readings swapped', () => {
    fc.assert(
      fc.property(fc.double(), fc.double(), fc.double(), (a, b, seconds) =>
        assert.equal(raplDisagreement(a, b, seconds) === null, raplDisagreement(b, a, seconds) === null),
      ),
    );
  });
});
