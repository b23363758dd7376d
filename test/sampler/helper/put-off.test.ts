import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { putOff, type PutOff } from '../../../src/sampler/helper/helper';

describe('putOff', () => {
  it('allows two failures, then doubles the wait from 30 s to 10 min', () => {
    let state: PutOff | undefined;
    const waits: number[] = [];
    for (let i = 0; i < 9; i++) {
      state = putOff(state, 1000);
      waits.push((state.untilMs - 1000) / 1000);
    }
    assert.deepEqual(waits, [0, 0, 30, 60, 120, 240, 480, 600, 600]);
  });

  it('stays at 10 min after thousands of failures', () => {
    assert.equal(putOff({ failures: 5000, untilMs: 0 }, 0).untilMs, 600_000);
  });
});
