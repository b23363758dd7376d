import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { failedCode } from '../../src/gridengine/failed-code';

describe('failedCode', () => {
  it('knows the codes of sge_status(5)', () => {
    const codes = [0, 1, 3, 4, 6, ...Array.from({ length: 15 }, (_, index) => index + 7), 24, 25, 26, 27, 28, 29, 30];
    for (const code of [...codes, 31, 32, 33, 34, 35, 36, 37, 38, 100]) {
      const found = failedCode(code);
      assert.doesNotMatch(found.meaning, /unknown failure/);
    }
  });

  it('says whether the job ran', () => {
    assert.equal(failedCode(8).ran, false);
    assert.equal(failedCode(15).ran, true);
    assert.equal(failedCode(37).ran, true);
    assert.equal(failedCode(20).ran, null);
  });

  it('has a sentence for any other code', () => {
    assert.deepEqual(failedCode(99), { meaning: 'unknown failure code 99', ran: null });
  });
});
