import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nextRaplCounter, rapl, type RaplCounter } from '../../../src/sources/node/rapl';
import { isUnavailable } from '../../../src/sources/source';
import { oddFile } from './garbage';
import { emptyTree, opened, plant, unsound, values } from './tree';

// No machine with RAPL was at hand: packages, DRAM, psys, MMIO and AMD are fixture trees.
const ZONE = 'sys/class/powercap/intel-rapl:0';

describe('rapl', () => {
  it('reads two sockets with their DRAM', (t) => {
    const read = opened(t, rapl, plant('xeon-2s-linux-5.14').place());
    assert.deepEqual(values(read()), {
      'rapl_energy_joules package-0': 183921.447802,
      'rapl_energy_joules package-0/dram': 51234.56789,
      'rapl_energy_joules package-1': 260123.456789,
      'rapl_energy_joules package-1/dram': 48111.222333,
    });
  });

  it('counts a package that is shown by MSR and by MMIO once', (t) => {
    const read = opened(t, rapl, plant('desktop-linux-6.8').place());
    assert.deepEqual(values(read()), {
      'rapl_energy_joules package-0': 90812.345678,
      'rapl_energy_joules package-0/core': 50812.345678,
      'rapl_energy_joules package-0/uncore': 1112.345678,
      'rapl_energy_joules psys': 120012.345678,
    });
  });

  it('reads MMIO where there is nothing else', (t) => {
    const tree = plant('desktop-linux-6.8');
    for (const zone of ['intel-rapl:0', 'intel-rapl:0:0', 'intel-rapl:0:1', 'intel-rapl:1'])
      tree.remove(`sys/class/powercap/${zone}`);
    assert.deepEqual(values(opened(t, rapl, tree.place())()), { 'rapl_energy_joules package-0': 90812.355555 });
  });

  it('reads AMD, which has cores but no DRAM', (t) => {
    assert.deepEqual(Object.keys(values(opened(t, rapl, plant('epyc-2s-linux-5.12').place())())), [
      'rapl_energy_joules package-0',
      'rapl_energy_joules package-0/core',
      'rapl_energy_joules package-1',
      'rapl_energy_joules package-1/core',
    ]);
  });

  it('goes on counting when the counter wraps around, and starts again when the counter was reset', (t) => {
    const tree = plant('xeon-2s-linux-5.14');
    const read = opened(t, rapl, tree.place());
    const at = (ms: number, microjoules: number): number => {
      tree.clock.ms = ms;
      tree.write(`${ZONE}/energy_uj`, `${microjoules}\n`);
      return values(read())['rapl_energy_joules package-0'] ?? NaN;
    };
    assert.equal(at(5_000, 262_143_000_000), 262143);
    assert.equal(at(10_000, 671_150), 262144);
    assert.equal(at(15_000, 1_000_671_150), 263144);
    assert.equal(at(20_000, 5_000_000), 5, '262 kJ in 5 s is no wrap-around');
  });

  it('leaves out a domain that vanishes, and is unavailable when all have vanished', (t) => {
    const tree = plant('xeon-2s-linux-5.14');
    const read = opened(t, rapl, tree.place());
    tree.remove(`${ZONE}:0`);
    assert.equal(values(read())['rapl_energy_joules package-0/dram'], undefined);
    tree.remove('sys/class/powercap');
    const gone = read();
    assert.ok(isUnavailable(gone));
    assert.match(gone.unavailable, /no .*energy_uj/);
  });

  it(
    'says that only root may read energy_uj',
    { skip: process.getuid?.() !== 0 && 'needs root to give root up' },
    () => {
      const tree = emptyTree();
      tree.write(`${ZONE}/name`, 'package-0\n');
      tree.write(`${ZONE}/energy_uj`, '1\n');
      tree.write(`${ZONE}/max_energy_range_uj`, '2\n');
      for (const path of ['', 'sys', 'sys/class', 'sys/class/powercap', ZONE])
        fs.chmodSync(join(tree.root, path), 0o755);
      fs.chmodSync(join(tree.root, ZONE, 'energy_uj'), 0o400);
      process.seteuid?.(65534);
      try {
        const open = rapl.open(tree.place(rapl.options));
        assert.ok(isUnavailable(open));
        assert.match(open.unavailable, /energy_uj: permission denied/);
        assert.match(open.fix ?? '', /root/);
      } finally {
        process.seteuid?.(0);
      }
    },
  );

  it('yields only sound readings from odd files', (t) => {
    const tree = emptyTree();
    fc.assert(
      fc.property(
        fc.array(oddFile, { minLength: 4, maxLength: 4 }),
        ([name = '', energy = '', range = '', next = '']) => {
          tree.write(`${ZONE}/name`, name);
          tree.write(`${ZONE}/energy_uj`, energy);
          tree.write(`${ZONE}/max_energy_range_uj`, range);
          const read = opened(t, rapl, tree.place());
          assert.deepEqual(unsound(rapl, read()), []);
          tree.write(`${ZONE}/energy_uj`, next);
          assert.deepEqual(unsound(rapl, read()), []);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('nextRaplCounter', () => {
  const RANGE = 262_143_328_850;
  const total = ({ raw, wraps }: RaplCounter): number => raw + wraps * RANGE;

  it('counts the energy used at any power and through any wrap-around, if it is read in time', () => {
    fc.assert(
      fc.property(
        fc.nat(RANGE - 1),
        fc.array(fc.record({ watts: fc.integer({ min: 0, max: 1000 }), ms: fc.integer({ min: 50, max: 120_000 }) }), {
          maxLength: 200,
        }),
        (start, steps) => {
          let counter = nextRaplCounter(undefined, start, RANGE, 0);
          let used = start;
          let at = 0;
          for (const { watts, ms } of steps) {
            used += watts * ms * 1000;
            at += ms;
            counter = nextRaplCounter(counter, used % RANGE, RANGE, at);
          }
          assert.equal(total(counter), used);
        },
      ),
    );
  });

  it('takes a fall as a wrap-around only where the power is possible, whatever is read', () => {
    fc.assert(
      fc.property(fc.nat(RANGE), fc.nat(RANGE), fc.nat(10_000), fc.constantFrom(0, 1000, RANGE), (a, b, ms, range) => {
        const before = nextRaplCounter(undefined, a, range, 0);
        const after = nextRaplCounter(before, b, range, ms);
        if (b >= a) assert.equal(after.wraps, 0);
        else if (after.wraps === 1) assert.ok(b + range - a <= 2_000_000 * ms + 1e6);
        else assert.ok(b < a && after.wraps === 0);
      }),
    );
  });
});
