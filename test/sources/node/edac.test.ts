import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { edac } from '../../../src/sources/node/edac';
import { isUnavailable } from '../../../src/sources/source';
import { oddFile } from './garbage';
import { emptyTree, opened, plant, unsound, values } from './tree';

// No machine with ECC memory was at hand: a fixture tree.
describe('edac', () => {
  it('reads the error counts of each memory controller', (t) => {
    assert.deepEqual(values(opened(t, edac, plant('xeon-2s-linux-5.14').place())()), {
      'edac_corrected mc0': 0,
      'edac_uncorrected mc0': 0,
      'edac_corrected mc1': 1274,
      'edac_uncorrected mc1': 1,
    });
  });

  it('leaves out what is no controller or no count, and is unavailable without a controller', (t) => {
    const tree = plant('xeon-2s-linux-5.14');
    const read = opened(t, edac, tree.place());
    tree.write('sys/devices/system/edac/mc/power/ce_count', '5\n');
    tree.write('sys/devices/system/edac/mc/mc0/ce_count', '-1\n');
    tree.remove('sys/devices/system/edac/mc/mc1');
    assert.deepEqual(values(read()), { 'edac_uncorrected mc0': 0 });
    tree.remove('sys/devices/system/edac');
    assert.ok(isUnavailable(read()));
    const none = edac.open(tree.place());
    assert.ok(isUnavailable(none));
    assert.match(none.unavailable, /^no memory controller in /);
  });

  it('yields only sound readings from odd files', (t) => {
    const tree = emptyTree();
    fc.assert(
      fc.property(oddFile, oddFile, (corrected, uncorrected) => {
        tree.write('sys/devices/system/edac/mc/mc0/ce_count', corrected);
        tree.write('sys/devices/system/edac/mc/mc0/ue_count', uncorrected);
        assert.deepEqual(unsound(edac, opened(t, edac, tree.place())()), []);
      }),
      { numRuns: 50 },
    );
  });
});
