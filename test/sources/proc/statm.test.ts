import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseStatm } from '../../../src/sources/proc/statm';
import { fixture, garbage, inUsedBuffer, KERNEL_THREAD, KERNELS, PROCESS, ZOMBIE } from './fixtures';

describe('parseStatm', () => {
  it('reads size and resident pages', () => {
    assert.deepEqual(parseStatm(...inUsedBuffer('765 432 404 5 0 123 0\n')), { size: 765, resident: 432 });
    assert.deepEqual(parseStatm(...inUsedBuffer(fixture('5.14', PROCESS, 'statm'))), {
      size: 16750000,
      resident: 13100000,
    });
  });

  it('returns zeros where there is no address space', () => {
    for (const kernel of KERNELS)
      for (const pid of [KERNEL_THREAD, ZOMBIE])
        assert.deepEqual(parseStatm(...inUsedBuffer(fixture(kernel, pid, 'statm'))), { size: 0, resident: 0 });
  });

  it('reads an address space of 128 PiB', () => {
    assert.deepEqual(parseStatm(...inUsedBuffer(`${2 ** 45} ${2 ** 44} 1 1 0 1 0\n`)), {
      size: 2 ** 45,
      resident: 2 ** 44,
    });
  });

  it('returns null for a single number and for an empty text', () => {
    assert.equal(parseStatm(...inUsedBuffer('')), null);
    assert.equal(parseStatm(...inUsedBuffer('765')), null);
  });

  it('yields numbers, none negative, or null from garbage', () => {
    fc.assert(
      fc.property(garbage(fixture('6.1', PROCESS, 'statm')), (bytes) => {
        const statm = parseStatm(...inUsedBuffer(bytes));
        return statm === null || Object.values(statm).every((value) => typeof value === 'number' && value >= 0);
      }),
    );
  });
});
