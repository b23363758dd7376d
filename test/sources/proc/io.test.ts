import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseIo } from '../../../src/sources/proc/io';
import { fixture, garbage, inUsedBuffer, KERNELS, prefixes, PROCESS } from './fixtures';

const SEEN = { readChars: 323934931, writtenChars: 323929600, readBytes: 4096, writtenBytes: 323932160 };

describe('parseIo', () => {
  it('reads the four counters, and does not take cancelled writes as written bytes', () => {
    for (const kernel of KERNELS) assert.deepEqual(parseIo(...inUsedBuffer(fixture(kernel, PROCESS, 'io'))), SEEN);
  });

  it('reads petabytes', () => {
    const text = fixture('6.1', PROCESS, 'io')
      .toString()
      .replace('write_bytes: 323932160', `write_bytes: ${2 ** 52}`);
    assert.equal(parseIo(...inUsedBuffer(text))?.writtenBytes, 2 ** 52);
  });

  it('returns null where a line is missing', () => {
    const text = fixture('6.1', PROCESS, 'io');
    for (const cut of prefixes(text).slice(0, text.indexOf('\nwrite_bytes:')))
      assert.equal(parseIo(...inUsedBuffer(cut)), null);
    assert.equal(parseIo(...inUsedBuffer(text.toString().replace('wchar', 'xchar'))), null);
  });

  it('yields numbers, none negative, or null from garbage', () => {
    fc.assert(
      fc.property(garbage(fixture('6.1', PROCESS, 'io')), (bytes) => {
        const io = parseIo(...inUsedBuffer(bytes));
        return io === null || Object.values(io).every((value) => typeof value === 'number' && value >= 0);
      }),
    );
  });
});
