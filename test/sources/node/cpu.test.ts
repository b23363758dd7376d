import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cpu, cpuReadings, parseCpuStat } from '../../../src/sources/node/cpu';
import { CPU_MODES, utilisation, type CpuTimes } from '../../../src/sources/node/cpu-times';
import { isUnavailable } from '../../../src/sources/source';
import { garbage } from '../proc/fixtures';
import { assertReadings, layoutRoot, layoutText, placeAt, readIn, table } from './layouts';
import { temporaryDirectory } from '../../support/temporary-directory';

const times = (...seconds: readonly number[]): CpuTimes =>
  Object.fromEntries(CPU_MODES.map((mode, index) => [mode, seconds[index] ?? 0])) as CpuTimes;

describe('cpu', () => {
  it('reads seconds by mode on CentOS 7, each under its own name', () => {
    const found = readIn('linux-3.10', cpu);
    assertReadings(found, {
      cpu_user_seconds: 402100,
      cpu_nice_seconds: 15,
      cpu_system_seconds: 25040,
      cpu_idle_seconds: 4012345.67,
      cpu_iowait_seconds: 520,
      cpu_irq_seconds: 0,
      cpu_softirq_seconds: 133,
      cpu_steal_seconds: 0,
      cpu_guest_seconds: 12,
      cpu_guest_nice_seconds: 0.3,
      cpu_context_switches: 15000000123,
      cpu_interrupts: 9876543210,
      cpu_softirqs: 4567890123,
      cpu_forks: 7654321,
      cpu_procs_running: 5,
      cpu_procs_blocked: 1,
      cpu_logical: 4,
      cpu_boot_timestamp: 1590000000,
    });
    // Nothing has passed between two readings of the same file.
    assert.equal('cpu_busy_percent' in found, false);
    assert.equal('cpu_per_cpu_user_seconds{0}' in found, false);
  });

  it('reads each CPU of a virtual machine', () => {
    assertReadings(readIn('linux-6.18', cpu, { options: { per_cpu_times: true } }), {
      cpu_steal_seconds: 6.99,
      'cpu_per_cpu_user_seconds{0}': 2915.41,
      'cpu_per_cpu_guest_nice_seconds{1}': 0,
      'cpu_per_cpu_steal_seconds{1}': 3.57,
      'cpu_per_cpu_user_seconds{2}': undefined,
      cpu_logical: 2,
    });
  });

  it('counts the CPUs that are online', () => {
    const found = readIn('linux-6.1-arm64', cpu, { options: { per_cpu_times: true } });
    assert.equal(found.cpu_logical, 7);
    assert.equal(found['cpu_per_cpu_idle_seconds{7}'], 10000);
  });

  it('reports utilisation since the last reading', () => {
    const root = temporaryDirectory();

    cpSync(layoutRoot('linux-6.18'), root, { recursive: true });
    const open = cpu.open(placeAt(root, cpu));
    assert.ok(!isUnavailable(open));
    const later = layoutText('linux-6.18', 'proc/stat')
      .replace('cpu  623226 23083 228409 1701702 5840', 'cpu  623326 23083 228459 1701732 5860')
      .replace('cpu0 291541 9930 103584 884984', 'cpu0 291641 9930 103584 884984');
    writeFileSync(join(root, 'proc', 'stat'), later);
    assertReadings(table(open.read()), {
      cpu_busy_percent: 75,
      cpu_user_percent: 50,
      cpu_system_percent: 25,
      cpu_idle_percent: 15,
      cpu_iowait_percent: 10,
      cpu_steal_percent: 0,
      'cpu_per_cpu_busy_percent{0}': 100,
      'cpu_per_cpu_busy_percent{1}': undefined,
    });
    writeFileSync(join(root, 'proc', 'stat'), 'cpu');
    assert.ok(isUnavailable(open.read()));
  });

  it('reads the fewer modes of old kernels', () => {
    const stat = parseCpuStat('cpu  100 0 200 300\ncpu0 100 0 200 300\n');
    assert.deepEqual(stat?.total, times(1, 0, 2, 3));
    assert.equal(parseCpuStat('cpu  100 0 200\n'), null);
    assert.equal(parseCpuStat(''), null);
  });

  it('reports no utilisation for CPUs that come or go', () => {
    const before = parseCpuStat('cpu  0 0 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\n');
    const after = parseCpuStat('cpu  100 0 0 100\ncpu0 100 0 0 100\ncpu2 50 0 0 0\n');
    assert.ok(after !== null);
    assertReadings(table(cpuReadings(after, before, false)), {
      'cpu_per_cpu_busy_percent{0}': 50,
      'cpu_per_cpu_busy_percent{1}': undefined,
      'cpu_per_cpu_busy_percent{2}': undefined,
      cpu_logical: 2,
    });
  });

  it('yields finite figures, none negative, from garbage', () => {
    const text = Buffer.from(layoutText('linux-3.10', 'proc/stat'));
    fc.assert(
      fc.property(garbage(text), (bytes) => {
        const stat = parseCpuStat(bytes.toString('utf8'));
        if (stat === null) return;
        for (const { value } of cpuReadings(stat, stat, true)) assert.ok(Number.isFinite(value) && value >= 0);
      }),
    );
  });
});

describe('utilisation', () => {
  it('counts the time of guests once', () => {
    const used = utilisation(times(), times(50, 0, 0, 50, 0, 0, 0, 0, 50));
    assert.equal(used?.busy, 50);
    assert.equal(used.modes.guest, 50);
  });

  it('takes a time that went back as 0', () => {
    const used = utilisation(times(10, 0, 0, 100, 7), times(20, 0, 0, 110, 3));
    assert.deepEqual([used?.busy, used?.modes.iowait], [50, 0]);
    assert.equal(utilisation(times(10, 0, 0, 100), times(0, 0, 0, 0)), null);
  });

  it('stays within 0 and 100, whatever the counters do', () => {
    const any = fc.array(fc.double({ min: 0, max: 1e12, noNaN: true }), { minLength: 10, maxLength: 10 });
    fc.assert(
      fc.property(any, any, (before, after) => {
        const used = utilisation(times(...before), times(...after));
        if (used === null) return;
        for (const percent of [used.busy, ...Object.values(used.modes)]) assert.ok(percent >= 0 && percent <= 100);
      }),
    );
  });
});
