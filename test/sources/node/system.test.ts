import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { battery, batteryState } from '../../../src/sources/node/battery';
import { cpufreq, parseCpuinfoClocks } from '../../../src/sources/node/cpufreq';
import { parsePressure, pressure } from '../../../src/sources/node/pressure';
import { parseUptime, uptime } from '../../../src/sources/node/uptime';
import { parseUtmp, users } from '../../../src/sources/node/users';
import { garbage } from '../proc/fixtures';
import { readFileSync } from 'node:fs';
import { assertReadings, layoutRoot, layoutText, readIn, whyNotIn } from './layouts';

describe('uptime', () => {
  it('reads seconds since boot and idle seconds of all CPUs', () => {
    assert.deepEqual(readIn('linux-3.10', uptime), {
      uptime_total_seconds: 1234567.89,
      uptime_idle_seconds: 4012345.67,
    });
    for (const text of ['', '12.3', '12.3 x', 'a 1.0 2.0', '1.0 2.0 3.0']) assert.equal(parseUptime(text), null, text);
  });
});

describe('pressure', () => {
  it('reads shares and stalled time of each resource', () => {
    const found = readIn('linux-6.18', pressure);
    assertReadings(found, {
      pressure_cpu_some_avg10_percent: 1.25,
      pressure_cpu_some_avg300_percent: 0.31,
      pressure_cpu_some_seconds: 1915.607612,
      pressure_cpu_full_seconds: 0,
      pressure_io_full_seconds: 40.181087,
      pressure_io_full_avg60_percent: 0.01,
      pressure_irq_full_seconds: 7.25,
      pressure_irq_some_seconds: undefined,
    });
    assert.equal(Object.keys(found).length, 28);
  });

  it('says how to switch it on where the kernel lacks it', () => {
    assert.equal(whyNotIn('linux-3.10', pressure).fix, 'boot Linux 4.20 or later with psi=1');
  });

  it("parses a cgroup's file, but no value that is no share", () => {
    const line = (avg: string) => `some avg10=${avg} avg60=0.00 avg300=0.00 total=5\n`;
    assert.deepEqual(parsePressure(`${line('100.00')}\n${line('0.00')}`), parsePressure(line('100.00')));
    assert.deepEqual(parsePressure(line('100.00')), [
      { kind: 'some', avg10: 100, avg60: 0, avg300: 0, totalSeconds: 0.000005 },
    ]);
    for (const text of [line('100.01'), line('999.00'), line('-1.00'), line('x'), 'some avg10=0.00\n', ''])
      assert.deepEqual(parsePressure(text), []);
  });
});

describe('cpufreq', () => {
  it('reads the clocks of an Arm64 machine by policy, and their mean over CPUs', () => {
    const found = readIn('linux-6.1-arm64', cpufreq);
    assertReadings(found, {
      'cpufreq_current_hertz{0}': 1e9,
      'cpufreq_minimum_hertz{4}': 800e6,
      'cpufreq_maximum_hertz{7}': 3400e6,
      // This CPU is offline.
      'cpufreq_current_hertz{6}': undefined,
    });
    assert.equal(Math.round(found.cpufreq_mean_hertz ?? 0), Math.round((4 * 1e9 + 2 * 3e9 + 3.4e9) / 7));
    assert.equal(Math.round(found.cpufreq_mean_minimum_hertz ?? 0), Math.round((4 * 600e6 + 3 * 800e6) / 7));
  });

  it('reads the directory of each CPU on CentOS 7', () => {
    assertReadings(readIn('linux-3.10', cpufreq), {
      cpufreq_mean_hertz: 2.4e9,
      cpufreq_mean_minimum_hertz: 1.2e9,
      cpufreq_mean_maximum_hertz: 3.2e9,
      'cpufreq_current_hertz{2}': 3.2e9,
    });
  });

  it('reads /proc/cpuinfo where there is no cpufreq', () => {
    assert.deepEqual(readIn('linux-6.18', cpufreq), {
      cpufreq_mean_hertz: 2598.5e6,
      'cpufreq_current_hertz{0}': 2596.12e6,
      'cpufreq_current_hertz{1}': 2600.88e6,
    });
    const clocks = parseCpuinfoClocks(layoutText('linux-3.10', 'proc/cpuinfo'));
    assert.deepEqual(clocks[3], { cpu: '3', cpus: 1, current: 2403125000, minimum: null, maximum: null });
    assert.deepEqual(parseCpuinfoClocks('processor\t: 0\ncpu MHz\t\t: 0.000\n'), []);
  });

  it('is unavailable on an Arm64 machine without cpufreq', () => {
    assert.match(whyNotIn('linux-6.1-arm64', cpufreq, { sys: '/nowhere' }).unavailable, /no "cpu MHz"/);
    assert.equal(cpufreq.blocking, true);
  });
});

describe('battery', () => {
  it('reads energy and power of a laptop on battery', () => {
    const found = readIn('linux-6.1-laptop', battery);
    assert.deepEqual(found, {
      battery_plugged: 0,
      'battery_charge_percent{BAT0}': 61.02,
      'battery_power_watts{BAT0}': -12.204,
      'battery_left_seconds{BAT0}': 9000,
    });
  });

  it('computes power from current and voltage, whatever the sign', () => {
    assert.deepEqual(readIn('linux-5.10-chromebook', battery), {
      battery_plugged: 1,
      'battery_charge_percent{sbs-20-000b}': 50,
      'battery_power_watts{sbs-20-000b}': 12,
    });
  });

  it('takes the charge from the capacity where nothing else is known', () => {
    const none = { number: (file: string) => (file === 'capacity' ? 42 : null), word: () => null };
    assert.deepEqual(batteryState(none), { charge: 42, power: null, leftSeconds: null });
    assert.match(whyNotIn('linux-3.10', battery).unavailable, /^no battery below /);
  });
});

describe('users', () => {
  it('counts sessions whose process is alive', () => {
    assert.deepEqual(readIn('linux-3.10', users), {
      users_logged_in: 2,
      users_sessions: 3,
      'users_sessions_of_user{alice}': 2,
      'users_sessions_of_user{bob}': 1,
    });
  });

  it('reads the records of Arm64, which are 400 bytes long', () => {
    assert.deepEqual(readIn('linux-6.1-arm64', users), {
      users_logged_in: 1,
      users_sessions: 1,
      'users_sessions_of_user{carol}': 1,
    });
  });

  it("takes this architecture's layout where both would fit", () => {
    const records = readFileSync(`${layoutRoot('linux-6.1-arm64')}/var/run/utmp`);
    const both = Buffer.concat(Array.from({ length: 8 }, () => records));
    assert.equal(both.length % 384, 0);
    assert.equal(parseUtmp(both, 400)?.length, 8);
  });

  it('finds nobody in an empty file, and returns null for a file that is no utmp', () => {
    assert.deepEqual(parseUtmp(Buffer.alloc(0)), []);
    assert.equal(parseUtmp(Buffer.alloc(383)), null);
    assert.equal(parseUtmp(Buffer.alloc(384, 0xff)), null);
    assert.match(whyNotIn('linux-6.18', users).unavailable, /^no .*utmp$/);
  });
});

describe('parsers of system files', () => {
  it('yield plausible figures from garbage', () => {
    const texts = [
      layoutText('linux-6.18', 'proc/pressure/cpu'),
      layoutText('linux-3.10', 'proc/cpuinfo'),
      layoutText('linux-3.10', 'proc/uptime'),
    ].map((text) => Buffer.from(text));
    const utmp = readFileSync(`${layoutRoot('linux-3.10')}/var/run/utmp`);
    fc.assert(
      fc.property(garbage(...texts, utmp), (bytes) => {
        const text = bytes.toString('utf8');
        for (const { avg10, avg60, avg300, totalSeconds } of parsePressure(text)) {
          for (const share of [avg10, avg60, avg300]) assert.ok(share >= 0 && share <= 100);
          assert.ok(Number.isFinite(totalSeconds) && totalSeconds >= 0);
        }
        for (const { current } of parseCpuinfoClocks(text)) assert.ok(current !== null && current > 0);
        for (const { value } of parseUptime(text) ?? []) assert.ok(Number.isFinite(value) && value >= 0);
        for (const { user, pid } of parseUtmp(bytes) ?? []) assert.ok(user !== '' && pid > 0);
      }),
    );
  });
});
