import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { unescapeJson } from '../../../src/gridengine/json/unescape';

describe('unescapeJson', () => {
  it('reads back what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        assert.equal(unescapeJson(JSON.stringify(text).slice(1, -1)), text);
      }),
    );
  });

  it('reads back bytes that are escaped one by one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const escaped = Array.from(Buffer.from(text), (byte) =>
          byte < 0x80 ? JSON.stringify(String.fromCharCode(byte)).slice(1, -1) : `\\u00${byte.toString(16)}`,
        );
        assert.equal(unescapeJson(escaped.join('')), text);
      }),
    );
    assert.equal(unescapeJson('\\u00e4'), 'ä', 'a code point of Latin-1');
  });

  it('takes broken escapes', () => {
    assert.equal(unescapeJson('\\x\\u12\\'), 'xu12\\');
  });
});
