import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { epochToMs } from '../../src/gridengine/epoch-time';

describe('epochToMs', () => {
  it('tells seconds, milliseconds and microseconds apart by their size', () => {
    assert.equal(epochToMs('1763700000'), 1763700000000);
    assert.equal(epochToMs('1763700000123'), 1763700000123);
    assert.equal(epochToMs('1763700000123456'), 1763700000123);
    assert.equal(epochToMs('1763700000.5'), 1763700000500);
  });

  it('returns null for 0 and for garbage', () => {
    for (const text of ['0', '', '-1', 'x', '1e9', '99999999999999999999']) assert.equal(epochToMs(text), null);
  });
});
