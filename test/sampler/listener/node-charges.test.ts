import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openCharges, useBetween, type ChargeReader } from '../../../src/sampler/listener/node-charges';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { THIS_MACHINE, unavailable, type Reading, type Source } from '../../../src/sources/source';
import { temporaryDirectory } from '../../support/temporary-directory';

/** No machine with RAPL was at hand: its sources are fakes, /proc a directory of the test's own. */
interface Node {
  /** Clock in ms, joules of the package by each source (null: it gives nothing any more), user and idle ticks. */
  atMs: number;
  powercap: number | null;
  perf: number | null;
  closed: number;
  readonly cpu: (user: number, idle: number) => void;
  readonly open: (settings?: Partial<Settings>) => ChargeReader;
}

function newNode(present: readonly string[]): Node {
  const proc = temporaryDirectory();
  mkdirSync(proc, { recursive: true });
  writeFileSync(join(proc, 'meminfo'), 'MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n');
  const fake = (name: 'rapl' | 'raplperf', joules: () => number | null): Source => ({
    name,
    reads: [],
    metrics: [],
    blocking: false,
    interval: 5,
    enabled: true,
    options: name === 'rapl' ? { idle_watts: 0 } : {},
    open: () => {
      if (!present.includes(name)) return unavailable('none here');
      const read = (): readonly Reading[] => [
        { metric: `${name}_energy_joules`, instance: 'package-0', value: joules() ?? 0 },
      ];
      return {
        read: () => (joules() === null ? unavailable('gone') : read()),
        close: () => {
          node.closed++;
        },
      };
    },
  });
  const node: Node = {
    atMs: 0,
    powercap: 0,
    perf: 0,
    closed: 0,
    cpu: (user, idle) => {
      writeFileSync(join(proc, 'stat'), `cpu  ${user} 0 0 ${idle} 0 0 0 0 0 0\ncpu0 ${user} 0 0 ${idle} 0 0 0 0 0 0\n`);
    },
    open: (settings = {}) =>
      openCharges(
        { ...DEFAULT_SETTINGS, ...settings },
        [fake('rapl', () => node.powercap), fake('raplperf', () => node.perf)],
        { ...THIS_MACHINE, proc, now: () => node.atMs },
      ),
  };
  node.cpu(0, 0);
  return node;
}

describe('the readings by which jobs are charged', () => {
  it('are energy, CPU time and memory of the host', () => {
    const node = newNode(['rapl']);
    const reader = node.open();
    const before = reader.read();
    Object.assign(node, { atMs: 10_000, powercap: 500 });
    node.cpu(1500, 500);
    const after = reader.read();
    assert.ok(before !== null && after !== null);
    assert.deepEqual(useBetween(before, after), {
      seconds: 10,
      packageJoules: 500,
      dramJoules: null,
      busyCpuSeconds: 15,
      cpuSeconds: 20,
      usedBytes: 600 * 1024,
    });
    // Counters that fall have begun anew: nothing is known.
    assert.equal(useBetween(after, before).busyCpuSeconds, null);
    assert.equal(useBetween(after, before).packageJoules, null);
    reader.close();
    assert.equal(node.closed, 1);
  });

  it('are null where energy is not counted, not wanted or no longer readable', () => {
    assert.equal(newNode([]).open().read(), null);
    const sources = { rapl: { enabled: false }, raplperf: { enabled: false } };
    assert.equal(newNode(['rapl', 'raplperf']).open({ sources }).read(), null);
    const node = newNode(['rapl']);
    const reader = node.open();
    assert.notEqual(reader.read(), null);
    node.powercap = null;
    assert.equal(reader.read(), null);
  });

  it('come from perf events where powercap is missing or off', () => {
    for (const [present, sources] of [
      [['raplperf'], {}],
      [['rapl', 'raplperf'], { rapl: { enabled: false } }],
    ] as const)
      assert.equal(newNode(present).open({ sources }).read()?.energy[0]?.metric, 'raplperf_energy_joules');
  });

  it('have the power of the idle host as configured, or else as learned', () => {
    const node = newNode(['rapl']);
    const learning = node.open();
    const configured = node.open({ sources: { rapl: { idle_watts: 33 } } });
    assert.equal(learning.read()?.idleWatts, null);
    assert.equal(configured.read()?.idleWatts, 33);
    Object.assign(node, { atMs: 10_000, powercap: 200 });
    node.cpu(10, 1990);
    assert.equal(learning.read()?.idleWatts, 20);
    assert.equal(configured.read()?.idleWatts, 33);
  });

  it('say where powercap and perf events disagree', () => {
    const node = newNode(['rapl', 'raplperf']);
    const reader = node.open();
    reader.read();
    Object.assign(node, { atMs: 10_000, powercap: 500, perf: 500 });
    assert.equal(reader.read()?.disagreement, null);
    // A reading of one source alone is compared with nothing.
    Object.assign(node, { atMs: 20_000, powercap: 1000, perf: null });
    assert.equal(reader.read()?.disagreement, null);
    Object.assign(node, { atMs: 30_000, powercap: 1500, perf: 1500 });
    assert.equal(reader.read()?.disagreement, null);
    Object.assign(node, { atMs: 40_000, powercap: 2000, perf: 1750 });
    assert.match(reader.read()?.disagreement ?? '', /^powercap 50\.0 W, perf events 25\.0 W: they disagree by 50 %$/);
  });
});
