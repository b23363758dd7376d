import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { hwmon } from '../../../src/sources/node/hwmon';
import { isUnavailable } from '../../../src/sources/source';
import { oddFile } from './garbage';
import { emptyTree, opened, plant, unsound, values } from './tree';

// No machine with sensors was at hand: Intel, AMD, Grace, Super-I/O chips, NVMe disks and an old kernel are fixture trees.
describe('hwmon', () => {
  it('reads temperatures, fans, voltages and power of a server', (t) => {
    assert.deepEqual(values(opened(t, hwmon, plant('xeon-2s-linux-5.14').place({ per_core: false }))()), {
      'hwmon_temperature_celsius coretemp/Package id 0': 41,
      'hwmon_temperature_max_celsius coretemp/Package id 0': 90,
      'hwmon_temperature_critical_celsius coretemp/Package id 0': 100,
      'hwmon_temperature_celsius coretemp#2/Package id 1': 44,
      'hwmon_temperature_max_celsius coretemp#2/Package id 1': 90,
      'hwmon_temperature_critical_celsius coretemp#2/Package id 1': 100,
      'hwmon_fan_rpm nct6796/fan1': 5400,
      'hwmon_fan_rpm nct6796/fan2': 0,
      'hwmon_voltage_volts nct6796/Vcore': 1.032,
      'hwmon_voltage_volts nct6796/in1': -0.008,
      'hwmon_temperature_celsius nct6796/SYSTIN': 33.5,
      'hwmon_power_watts power_meter/power1': 412,
    });
  });

  it('reads the sensors of single cores by default', (t) => {
    const read = opened(t, hwmon, plant('xeon-2s-linux-5.14').place());
    assert.equal(values(read())['hwmon_temperature_celsius coretemp#2/Core 10'], 42);
    const amd = values(opened(t, hwmon, plant('epyc-2s-linux-5.12').place())());
    assert.equal(amd['hwmon_energy_joules amd_energy/Ecore000'], 1042.113467);
  });

  it('reads the sockets of amd_energy', (t) => {
    assert.deepEqual(values(opened(t, hwmon, plant('epyc-2s-linux-5.12').place({ per_core: false }))()), {
      'hwmon_temperature_celsius k10temp/Tctl': 48.25,
      'hwmon_temperature_celsius k10temp/Tccd1': 40.25,
      'hwmon_temperature_celsius k10temp#2/Tctl': 51.625,
      'hwmon_temperature_celsius k10temp#2/Tccd1': 43.625,
      'hwmon_energy_joules amd_energy/Esocket0': 8812334.455667,
      'hwmon_energy_joules amd_energy/Esocket1': 8700000.000001,
    });
  });

  it('reads the power meters of Grace, whose names are texts of the vendor', (t) => {
    assert.deepEqual(values(opened(t, hwmon, plant('grace-linux-6.8').place())()), {
      'hwmon_power_watts power_meter/Module Power Socket 0': 345,
      'hwmon_power_watts power_meter#2/Grace Power Socket 0': 141,
      'hwmon_power_watts power_meter#3/CPU Power Socket 0': 98,
      'hwmon_power_watts power_meter#4/SysIO Power Socket 0': 21,
    });
  });

  it('prefers the power of the moment to an average', (t) => {
    const tree = plant('grace-linux-6.8');
    tree.write('sys/class/hwmon/hwmon1/device/power1_input', '351000000\n');
    const read = opened(t, hwmon, tree.place());
    assert.equal(values(read())['hwmon_power_watts power_meter/Module Power Socket 0'], 351);
  });

  it('keeps chips and sensors of one name apart and leaves absurd limits out', (t) => {
    assert.deepEqual(values(opened(t, hwmon, plant('desktop-linux-6.8').place())()), {
      'hwmon_temperature_celsius nvme/Composite': 38.85,
      'hwmon_temperature_max_celsius nvme/Composite': 81.85,
      'hwmon_temperature_critical_celsius nvme/Composite': 84.85,
      'hwmon_temperature_celsius nvme/Sensor 1': 38.85,
      'hwmon_temperature_celsius nvme#2/Composite': 40.85,
      'hwmon_temperature_max_celsius nvme#2/Composite': 81.85,
      'hwmon_temperature_critical_celsius nvme#2/Composite': 84.85,
      'hwmon_temperature_celsius nct6687/SMBUSMASTER 0': 30,
      'hwmon_temperature_celsius nct6687/SMBUSMASTER 0#2': 31,
      'hwmon_fan_rpm nct6687/CPU Fan': 912,
    });
  });

  it('finds the attributes of an old kernel in the parent device', (t) => {
    const read = opened(t, hwmon, plant('old-linux-3.10').place());
    assert.equal(values(read())['hwmon_temperature_celsius coretemp/Physical id 0'], 52);
  });

  it('leaves out a chip that vanishes, reads a new one, and is unavailable without any', (t) => {
    const tree = plant('desktop-linux-6.8');
    const read = opened(t, hwmon, tree.place());
    tree.remove('sys/class/hwmon/hwmon1');
    tree.write('sys/class/hwmon/hwmon9/name', 'nvme\n');
    tree.write('sys/class/hwmon/hwmon9/temp1_input', '30000\n');
    const later = values(read());
    assert.equal(later['hwmon_temperature_celsius nvme/Composite'], undefined);
    assert.equal(later['hwmon_temperature_celsius nvme#2/Composite'], 40.85);
    assert.equal(later['hwmon_temperature_celsius nvme#3/temp1'], 30);
    tree.remove('sys/class/hwmon');
    assert.ok(isUnavailable(read()));
  });

  it('yields only sound readings from odd files', (t) => {
    const tree = emptyTree();
    const files = ['name', 'temp1_label', 'temp1_input', 'temp1_max', 'fan1_input', 'power1_average', 'energy1_input'];
    fc.assert(
      fc.property(fc.array(oddFile, { minLength: files.length, maxLength: files.length }), (texts) => {
        for (const [index, file] of files.entries()) tree.write(`sys/class/hwmon/hwmon0/${file}`, texts[index] ?? '');
        assert.deepEqual(unsound(hwmon, opened(t, hwmon, tree.place())()), []);
      }),
      { numRuns: 50 },
    );
  });
});
