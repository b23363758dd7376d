import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { parsePrintedSize } from '../../../src/gridengine/qhost/read-qhost';

describe('parsePrintedSize', () => {
  it('reads sizes as qhost prints them', () => {
    assert.equal(parsePrintedSize('93.1G'), Math.round(93.1 * 2 ** 30));
    assert.equal(parsePrintedSize('984.1M'), Math.round(984.1 * 2 ** 20));
    assert.equal(parsePrintedSize('0.0'), 0);
    assert.equal(parsePrintedSize('512.0'), 512);
    assert.equal(parsePrintedSize('1.5T'), 1.5 * 2 ** 40);
    assert.equal(parsePrintedSize('1.0E'), 2 ** 60);
  });

  it('returns null for other text', () => {
    for (const text of ['-', '', '?', 'infinity', '1.0X', '-1.0G', '1.0g', '1,0G', `${'9'.repeat(400)}G`]) {
      assert.equal(parsePrintedSize(text), null, text);
    }
  });
});
