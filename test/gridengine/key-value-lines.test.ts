import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { keyValueLines } from '../../src/gridengine/key-value-lines';

describe('keyValueLines', () => {
  it('splits at the first equals sign', () => {
    assert.deepEqual(keyValueLines('a=b=c\nd=\ne'), [
      { key: 'a', value: 'b=c' },
      { key: 'd', value: '' },
      { key: 'e', value: null },
    ]);
  });

  it('keeps empty lines but not the end of the last line', () => {
    assert.deepEqual(keyValueLines('a=1\n\n'), [
      { key: 'a', value: '1' },
      { key: '', value: null },
    ]);
    assert.deepEqual(keyValueLines(''), []);
  });
});
