import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseAddressSpaceLimit } from '../../../src/sources/proc/limits';

const limits = (soft: string, hard: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max data size             unlimited            1048576              bytes     
Max address space         ${soft.padEnd(20)} ${hard.padEnd(20)} bytes     
Max file locks            unlimited            unlimited            locks     
`;

describe('parseAddressSpaceLimit', () => {
  it('returns the hard limit', () => {
    assert.equal(parseAddressSpaceLimit(limits('1073741824', '4294967296')), 4294967296);
    assert.equal(parseAddressSpaceLimit(limits('1073741824', 'unlimited')), Infinity);
    assert.equal(parseAddressSpaceLimit(limits('unlimited', 'unlimited')), Infinity);
  });

  it('reads this process', () => {
    assert.notEqual(parseAddressSpaceLimit(readFileSync('/proc/self/limits', 'latin1')), null);
  });

  it('returns null without a limit in the text, and a number or null for any text', () => {
    const text = limits('1073741824', '4294967296');
    for (const garbage of ['', 'Max address space', text.replace('address', 'adress'), limits('x', 'y')])
      assert.equal(parseAddressSpaceLimit(garbage), null);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.nat(text.length).map((length) => text.slice(0, length)),
        ),
        (garbage) => {
          const limit = parseAddressSpaceLimit(garbage);
          assert.ok(limit === null || limit >= 0);
        },
      ),
    );
  });
});
