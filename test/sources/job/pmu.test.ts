import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isUnavailable } from '../../../src/sources/source';
import {
  corePmusOfHybrid,
  encodeTerms,
  parseFormat,
  parseTerms,
  readPmu,
  spread,
  type Pmu,
} from '../../../src/sources/job/pmu';
import { MACHINES, sysOf, type Machine } from './perf-fixtures';

function pmu(machine: Machine, name: string): Pmu {
  const found = readPmu(sysOf(machine), name);
  assert.ok(found !== null, `${machine} has no ${name}`);
  return found;
}

/** config, config1 and config2 in hexadecimal, or why there are none. */
function encoded(machine: Machine, name: string, terms: string): readonly string[] | string {
  const result = encodeTerms(sysOf(machine), pmu(machine, name), terms);
  if (isUnavailable(result)) return result.unavailable;
  return [result.config, result.config1, result.config2].map((word) => word.toString(16));
}

describe('readPmu', () => {
  it('tells apart the PMUs of all cores, of some cores and of the whole node', () => {
    assert.deepEqual(pmu('intel-xeon', 'cpu'), { name: 'cpu', type: 4, cpus: null, nodeWide: false });
    assert.deepEqual(pmu('intel-hybrid', 'cpu_atom'), {
      name: 'cpu_atom',
      type: 10,
      cpus: [16, 17, 18, 19, 20, 21, 22, 23],
      nodeWide: false,
    });
    assert.equal(pmu('intel-xeon', 'uncore_imc_0').nodeWide, true);
    assert.equal(pmu('arm-neoverse', 'armv8_pmuv3_0').cpus?.length, 64);
  });

  it('returns null for a PMU that does not exist, and never leaves its directory', () => {
    assert.equal(readPmu(sysOf('intel-xeon'), 'cpu_core'), null);
    for (const name of ['..', '.', '../devices/cpu', 'cpu/../cpu', '', '/'])
      assert.equal(readPmu(sysOf('intel-xeon'), name), null);
  });
});

describe('corePmusOfHybrid', () => {
  it('finds several kinds of cores, and none where all cores are alike', () => {
    const names = (machine: Machine): readonly string[] => corePmusOfHybrid(sysOf(machine)).map(({ name }) => name);
    assert.deepEqual(names('intel-hybrid'), ['cpu_atom', 'cpu_core']);
    assert.deepEqual(names('arm-big-little'), ['armv8_cortex_a53', 'armv8_cortex_a73']);
    for (const machine of ['intel-xeon', 'amd-zen3', 'arm-neoverse'] as const) assert.deepEqual(names(machine), []);
  });
});

describe('encodeTerms', () => {
  it('puts terms where the PMU wants them', () => {
    assert.deepEqual(encoded('intel-xeon', 'cpu', 'event=0x3c,umask=0x1'), ['13c', '0', '0']);
    assert.deepEqual(encoded('intel-xeon', 'cpu', 'event=60,edge,cmask=2'), ['204003c', '0', '0']);
    assert.deepEqual(encoded('intel-xeon', 'cpu', 'event=0xcd,umask=1,ldlat=30'), ['1cd', '1e', '0']);
    assert.deepEqual(encoded('arm-neoverse', 'armv8_pmuv3_0', 'event=0x8005,long'), ['8005', '1', '0']);
    assert.deepEqual(encoded('arm-neoverse', 'arm_cmn_0', 'eventid=5'), ['50000', '0', '0']);
  });

  it('splits a value over bits that lie apart (AMD)', () => {
    assert.deepEqual(encoded('amd-zen3', 'cpu', 'event=0x1c0,umask=0xff'), ['10000ffc0', '0', '0']);
  });

  it('resolves the events that the PMU names', () => {
    assert.deepEqual(encoded('intel-hybrid', 'cpu_core', 'mem-loads'), ['1cd', '3', '0']);
    assert.deepEqual(encoded('intel-xeon', 'cpu', 'cache-misses'), ['412e', '0', '0']);
    assert.deepEqual(encoded('intel-xeon', 'cpu', 'cache-misses,edge'), ['4412e', '0', '0']);
    assert.deepEqual(encoded('amd-zen3', 'cpu', 'cache-misses'), ['964', '0', '0']);
    assert.deepEqual(encoded('arm-neoverse', 'armv8_pmuv3_0', 'l1d_cache_refill'), ['3', '0', '0']);
  });

  it('accepts whole config words', () => {
    assert.deepEqual(encoded('intel-xeon', 'cpu', 'config=0xffffffffffffffff,config1=0x2,config2=3'), [
      'ffffffffffffffff',
      '2',
      '3',
    ]);
  });

  it('says what is wrong with other terms', () => {
    assert.match(String(encoded('intel-xeon', 'cpu', 'event=0x100')), /value of "event" is too large/);
    assert.match(String(encoded('intel-xeon', 'cpu', 'evnt=1')), /no term or event "evnt"/);
    assert.match(String(encoded('intel-xeon', 'cpu', '')), /not a list of terms/);
    assert.match(String(encoded('intel-xeon', 'cpu', 'event=0x3c,umask=0x11112222333344445')), /not a list of terms/);
    assert.match(String(encoded('intel-xeon', 'cpu', '../type')), /not a list of terms/);
    assert.match(String(encoded('intel-xeon', 'uncore_cha_0', 'core_clock')), /wants further terms/);
  });

  it('encodes 64 bits at most or refuses, for any text', () => {
    const piece = fc.constantFrom('event', 'umask', '=', ',', '0x', 'ff', '9'.repeat(30), '-', '..', '/', '\n', 'edge');
    const text = fc.oneof(
      fc.string(),
      fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(text, fc.constantFrom(...MACHINES), (garbage, machine) => {
        const [core = readPmu(sysOf(machine), 'cpu') ?? pmu('arm-neoverse', 'armv8_pmuv3_0')] = corePmusOfHybrid(
          sysOf(machine),
        );
        const result = encodeTerms(sysOf(machine), core, garbage);
        assert.ok(isUnavailable(result) || result.config >> 64n === 0n);
      }),
    );
  });
});

describe('parseFormat and parseTerms', () => {
  it('read any text without an error, and bits from 0 to 63 only', () => {
    const piece = fc.constantFrom('config', 'config1', ':', '0', '63', '64', '-', ',', '\n', ' ');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const format = parseFormat(pieces.join(''));
        assert.ok(format === null || format.bits.every((bit) => bit >= 0 && bit < 64));
        parseTerms(pieces.join(''));
      }),
    );
    for (const text of ['', 'config', 'config:', 'config:64', 'config3:0-63', 'config:7-0', 'word:0-7'])
      assert.equal(parseFormat(text), null);
  });
});

describe('spread', () => {
  it('puts a value into its bits so that it can be read back, and keeps the other bits', () => {
    const bits = fc.uniqueArray(fc.nat(63), { minLength: 1, maxLength: 64 });
    fc.assert(
      fc.property(bits, fc.bigInt(0n, 2n ** 64n - 1n), fc.bigInt(0n, 2n ** 64n - 1n), (places, word, value) => {
        const result = spread(word, places, value);
        if (value >> BigInt(places.length) !== 0n) {
          assert.equal(result, null);
          return;
        }
        assert.ok(result !== null);
        const out = places.reduce((all, bit, index) => all | (((result >> BigInt(bit)) & 1n) << BigInt(index)), 0n);
        assert.equal(out, value);
        const others = places.reduce((mask, bit) => mask & ~(1n << BigInt(bit)), 2n ** 64n - 1n);
        assert.equal(result & others, word & others);
      }),
    );
  });
});
