import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { displayWidth } from '../../../src/report/screen/text-width';
import { wrap } from '../../../src/report/screen/layout';

describe('wrap', () => {
  it('breaks at blanks', () => {
    assert.deepEqual(wrap('one two three', 7), ['one two', 'three']);
    assert.deepEqual(wrap('', 7), ['']);
    assert.deepEqual(wrap('unbreakable', 4), ['unbreakable']);
  });

  it('loses no word, and exceeds the width only for a longer word', () => {
    const words = fc.array(fc.stringMatching(/^[a-z日]{1,12}$/), { minLength: 1 });
    fc.assert(
      fc.property(words, fc.integer({ min: 1, max: 40 }), (list, width) => {
        const lines = wrap(list.join(' '), width);
        assert.equal(lines.join(' '), list.join(' '));
        for (const line of lines) assert.ok(displayWidth(line) <= width || !line.includes(' '));
      }),
    );
  });
});
