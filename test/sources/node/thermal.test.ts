import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { thermal } from '../../../src/sources/node/thermal';
import { isUnavailable } from '../../../src/sources/source';
import { oddFile } from './garbage';
import { emptyTree, opened, plant, unsound, values } from './tree';

// No machine with thermal zones was at hand: fixture trees.
describe('thermal', () => {
  it('reads zones by their type and numbers the zones of one type', (t) => {
    assert.deepEqual(values(opened(t, thermal, plant('xeon-2s-linux-5.14').place())()), {
      'thermal_temperature_celsius acpitz': 27.8,
      'thermal_temperature_celsius x86_pkg_temp': 41,
      'thermal_temperature_celsius x86_pkg_temp#2': 44,
    });
  });

  it('leaves out a sensor that is off', (t) => {
    assert.deepEqual(values(opened(t, thermal, plant('desktop-linux-6.8').place())()), {
      'thermal_temperature_celsius acpitz': 27.8,
      'thermal_temperature_celsius INT3400 Thermal': 20,
      'thermal_temperature_celsius x86_pkg_temp': 61,
    });
  });

  it('keeps names when a zone vanishes, reads a new one, and is unavailable without any', (t) => {
    const tree = plant('xeon-2s-linux-5.14');
    const read = opened(t, thermal, tree.place());
    tree.remove('sys/class/thermal/thermal_zone1');
    tree.write('sys/class/thermal/thermal_zone9/type', 'x86_pkg_temp\n');
    tree.write('sys/class/thermal/thermal_zone9/temp', '-5000\n');
    assert.deepEqual(values(read()), {
      'thermal_temperature_celsius acpitz': 27.8,
      'thermal_temperature_celsius x86_pkg_temp#2': 44,
      'thermal_temperature_celsius x86_pkg_temp#3': -5,
    });
    tree.remove('sys/class/thermal');
    assert.ok(isUnavailable(read()));
  });

  it('distinguishes no zone from no readable zone', () => {
    const tree = emptyTree();
    const none = thermal.open(tree.place());
    assert.ok(isUnavailable(none));
    assert.match(none.unavailable, /^no thermal zone in /);
    // Reading a directory fails, as does reading a sensor that answers EAGAIN, EIO or ENODATA.
    tree.write('sys/class/thermal/thermal_zone0/type', 'acpitz\n');
    tree.write('sys/class/thermal/thermal_zone0/temp/x', '');
    const invalid = thermal.open(tree.place());
    assert.ok(isUnavailable(invalid));
    assert.equal(invalid.unavailable, 'no thermal zone has a valid reading');
  });

  it('yields only sound readings from odd files', (t) => {
    const tree = emptyTree();
    fc.assert(
      fc.property(oddFile, oddFile, oddFile, (type, first, second) => {
        for (const [zone, temp] of [first, second].entries()) {
          tree.write(`sys/class/thermal/thermal_zone${zone}/type`, type);
          tree.write(`sys/class/thermal/thermal_zone${zone}/temp`, temp);
        }
        assert.deepEqual(unsound(thermal, opened(t, thermal, tree.place())()), []);
      }),
      { numRuns: 50 },
    );
  });
});
