import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { parseMemorySize, parseTime } from '../../src/gridengine/memory-size';
import { oneOf } from '../tries';
import { cpuMs } from '../support/cpu-time';

function bytes(text: string): number {
  const result = parseMemorySize(text);
  assert.ok(result.ok, `${text}: ${result.ok ? '' : result.error}`);
  return result.value;
}

describe('parseMemorySize', () => {
  const sizes: readonly [string, number][] = [
    ['0', 0],
    ['1048576', 1048576],
    ['4k', 4000],
    ['4K', 4096],
    ['4m', 4e6],
    ['4M', 4 * 1024 ** 2],
    ['4g', 4e9],
    ['4G', 4 * 1024 ** 3],
    ['4t', 4e12],
    ['4T', 4 * 1024 ** 4],
    ['1.5G', 1.5 * 1024 ** 3],
    ['.5G', 0.5 * 1024 ** 3],
    ['5.K', 5 * 1024],
    ['1e3M', 1000 * 1024 ** 2],
    ['0.5G', 0.5 * 1024 ** 3],
    ['+2G', 2 * 1024 ** 3],
    ['-1K', -1024],
    ['0x10G', 16 * 1024 ** 3],
    ['0X10', 16],
    ['010K', 8 * 1024],
    ['0x100000000', 0],
    ['0xffffffffffffffffffff', 0xffffffff],
    ['0x1.8', 1.5],
    [' 010', 10],
    ['infinity', Infinity],
    ['INFINITY', Infinity],
    ['inf', Infinity],
    ['infG', Infinity],
    ['true', 1],
    ['FALSE', 0],
    ['1:0:0', 3600],
    ['4G,whatever', 4 * 1024 ** 3],
    ['4/1', 4],
  ];
  for (const [text, expected] of sizes) {
    it(`reads ${JSON.stringify(text)} as ${expected}`, () => assert.equal(bytes(text), expected));
  }

  for (const text of [
    '',
    ' ',
    '4GB',
    '4 G',
    '4P',
    '4KiB',
    '4 ',
    '08G',
    '0x',
    '0e3',
    'G',
    'x',
    'nan',
    '1e',
    '--1',
    '1:2',
    '\n',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.equal(parseMemorySize(text).ok, false));
  }

  it('names the multipliers in its error', () => {
    const result = parseMemorySize('4GB');
    assert.match(result.ok ? '' : result.error, /"B" in "4GB".*k K m M/);
  });

  it('never throws and never yields NaN', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[ +\-0-9.:xXeEpPa-fkKmMgGtTinfy,/]{0,30}$/)), (text) => {
        const result = parseMemorySize(text);
        assert.ok(result.ok ? !Number.isNaN(result.value) : result.error.length < 300);
      }),
    );
  });

  it('scales every whole number by every multiplier', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.constantFrom('k', 'm', 'g', 't'), (count, letter) => {
        const power = 'kmgt'.indexOf(letter) + 1;
        assert.equal(bytes(`${count}${letter}`), count * 1000 ** power);
        assert.equal(bytes(`${count}${letter.toUpperCase()}`), count * 1024 ** power);
      }),
    );
  });

  it('takes less than 0.5 s of CPU time for hostile text', () =>
    oneOf(5, () => {
      const started = cpuMs();
      for (const text of [
        '1'.repeat(1e6),
        `0x${'f'.repeat(4000)}`,
        `${'1'.repeat(2000)}.${'1'.repeat(2000)}x`,
        ':'.repeat(4000),
      ]) {
        parseMemorySize(text);
      }
      assert.ok(cpuMs() - started < 500);
    }));
});

describe('parseTime', () => {
  const times: readonly [string, number][] = [
    ['24:00:00', 86_400],
    ['::30', 30],
    ['1::1', 3601],
    ['0:1:0', 60],
    ['100:0:0', 360_000],
    ['0:0:1.5', 1.5],
    ['1:0:0 ', 3600],
    ['3600', 3600],
    ['7:01:00:00', 7 * 86_400 + 3600],
    ['INFINITY', Infinity],
  ];
  for (const [text, expected] of times) {
    it(`reads ${JSON.stringify(text)} as ${expected} s`, () =>
      assert.deepEqual(parseTime(text), { ok: true, value: expected }));
  }

  for (const text of ['1:2', '1:2:3:4:5', '1:x:2', '1:2:3x', '99999999999:0:0', ':']) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.equal(parseTime(text).ok, false));
  }
});
