import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseCpuList } from '../../src/sources/cpu-list';

describe('parseCpuList', () => {
  it('reads lists as sysfs writes them', () => {
    assert.deepEqual(parseCpuList('0-3,8,10-11\n'), [0, 1, 2, 3, 8, 10, 11]);
    assert.deepEqual(parseCpuList('0\n'), [0]);
    assert.deepEqual(parseCpuList('\n'), []);
  });

  it('returns null for anything else', () => {
    for (const text of ['3-1', '0-', '-1', '0,,1', '0x3', '0-99999999', '0-999999', '0 1'])
      assert.equal(parseCpuList(text), null);
  });

  it('returns CPUs below 65536 or null for any text', () => {
    const piece = fc.constantFrom('0', '7', '63', '99999', ',', '-', '\n', ' ', 'x');
    const text = fc.oneof(
      fc.string(),
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(text, (garbage) => {
        const cpus = parseCpuList(garbage);
        assert.ok(cpus === null || cpus.every((cpu) => cpu >= 0 && cpu < 65536));
      }),
    );
  });
});
