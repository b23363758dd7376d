import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ALL_SOURCE_FACTS, NODE_SOURCES } from '../../src/sources/registry';
import { isUnavailable, THIS_MACHINE, type Unavailable } from '../../src/sources/source';
import { unsound } from './node/tree';

const METRICS = ALL_SOURCE_FACTS.flatMap((source) => source.metrics.map((metric) => ({ source, metric })));

const UNITS: readonly string[] = [
  ...['bytes', 'seconds', 'joules', 'watts', 'celsius', 'hertz', 'rpm', 'volts', 'percent', 'ratio'],
  ...['byte_seconds', 'bits_per_second', 'timestamp'],
];

/** Units of counters: an amount may only grow, a level falls too. */
const MAY_COUNT_UP: readonly string[] = ['bytes', 'seconds', 'byte_seconds', 'joules', 'count'];

const repeated = (names: readonly string[]): readonly string[] =>
  names.filter((name, index) => names.indexOf(name) !== index);

describe('registry', () => {
  it('names each source once, as a key of qmemacct.toml', () => {
    assert.deepEqual(repeated(ALL_SOURCE_FACTS.map(({ name }) => name)), []);
    for (const { name } of ALL_SOURCE_FACTS) assert.match(name, /^[a-z][a-z0-9]*$/);
  });

  it('names each metric once, after its source', () => {
    assert.deepEqual(repeated(METRICS.map(({ metric }) => metric.name)), []);
    for (const { source, metric } of METRICS) {
      assert.match(metric.name, /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/);
      assert.ok(metric.name.startsWith(`${source.name}_`), metric.name);
    }
  });

  it("ends each metric's name in its unit, and the name of a count in no unit", () => {
    for (const { metric } of METRICS) {
      const suffix = UNITS.find((unit) => metric.name.endsWith(`_${unit}`));
      if (metric.unit === 'count') assert.equal(suffix, undefined, metric.name);
      else assert.ok(metric.name.endsWith(`_${metric.unit}`), metric.name);
      if (metric.unit === 'seconds') assert.ok(!metric.name.endsWith('_byte_seconds'), metric.name);
    }
  });

  it('has counters in units of amounts only', () => {
    for (const { metric } of METRICS)
      if (metric.kind === 'counter') assert.ok(MAY_COUNT_UP.includes(metric.unit), metric.name);
  });

  it('has a resolution for each metric whose unit needs fractions', () => {
    const always: readonly string[] = ['ratio', 'joules', 'volts'];
    const mostly: readonly string[] = ['seconds', 'percent', 'watts', 'celsius'];
    for (const { metric } of METRICS) {
      const { resolution, name, unit } = metric;
      assert.ok(resolution === undefined || (resolution > 0 && Number.isFinite(resolution)), name);
      if (always.includes(unit)) assert.ok(resolution !== undefined && resolution > 1, name);
      if (mostly.includes(unit)) assert.ok(resolution !== undefined && resolution >= 1, name);
    }
  });

  it('describes each metric in one sentence, and names what each source reads', () => {
    for (const { metric } of METRICS) {
      assert.match(metric.help, /^[A-Z0-9][^\n]*\.$/, metric.name);
      if (metric.instance !== undefined)
        assert.match(metric.instance, /^[a-z][a-z0-9_]*(\/[a-z][a-z0-9_]*)*$/, metric.name);
    }
    for (const { name, reads, interval, metrics } of ALL_SOURCE_FACTS) {
      assert.ok(reads.length > 0 && reads.every((what) => what !== ''), name);
      assert.ok(interval >= 1, name);
      assert.ok(metrics.length > 0, name);
    }
  });

  it('has no option with a name that every source has as a key', () => {
    for (const { name, options } of ALL_SOURCE_FACTS)
      for (const key of Object.keys(options)) {
        assert.match(key, /^[a-z][a-z0-9_]*$/, `${name}: ${key}`);
        assert.ok(key !== 'enabled' && key !== 'interval', name);
      }
  });
});

function assertReason({ unavailable, fix }: Unavailable): void {
  assert.match(unavailable, /^\S[^\n]*[^.\n]$/);
  if (fix !== null) assert.match(fix, /^\S[^\n]*[^.\n]$/);
}

describe('a source on this machine', () => {
  for (const source of NODE_SOURCES)
    it(`yields sound readings twice in a row, or says why not: ${source.name}`, (test) => {
      const open = source.open({ ...THIS_MACHINE, options: source.options });
      if (isUnavailable(open)) {
        assertReason(open);
        test.skip(open.unavailable);
        return;
      }
      try {
        const rounds = [open.read(), open.read()];
        for (const readings of rounds)
          if (isUnavailable(readings)) assertReason(readings);
          else assert.deepEqual(unsound(source, readings), []);
        const [first, second] = rounds.map((readings) => (isUnavailable(readings) ? [] : readings));
        const counters = new Set(source.metrics.filter(({ kind }) => kind === 'counter').map(({ name }) => name));
        for (const { metric, instance, value } of second ?? []) {
          if (!counters.has(metric)) continue;
          const before = first?.find((reading) => reading.metric === metric && reading.instance === instance);
          // Times that the kernel estimates, idle and iowait above all, may go back by a little.
          if (before !== undefined) assert.ok(value >= before.value - 1, `${metric}{${instance}} fell`);
        }
      } finally {
        open.close();
      }
    });

  it('is available where every Linux has it', () => {
    const available = NODE_SOURCES.filter(
      (source) => !isUnavailable(source.open({ ...THIS_MACHINE, options: source.options })),
    ).map(({ name }) => name);
    for (const name of ['uptime', 'loadavg', 'cpu', 'meminfo', 'swap', 'vmstat', 'mounts', 'network', 'sockets'])
      assert.ok(available.includes(name), name);
  });
});
