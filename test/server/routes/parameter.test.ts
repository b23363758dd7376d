import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'node:test';
import {
  pathJob,
  pathName,
  queryAmount,
  queryCount,
  queryFlag,
  queryName,
  queryShare,
  queryTime,
  queryWord,
  queryWords,
  type Parameter,
} from '../../../src/server/routes/parameter';
import { schemaFaults } from './matches-schema';
import { anyCharacter } from '../../support/any-character';

const NOW = Date.UTC(2026, 10, 21, 12);
const time = queryTime('');

describe('parameters of an address', () => {
  it('are read as people write them', () => {
    assert.deepEqual(pathJob.read('4711', NOW), { job: 4711, task: null });
    assert.deepEqual(pathJob.read('4711.3', NOW), { job: 4711, task: 3 });
    assert.equal(time.read('7d', NOW), NOW - 7 * 86_400_000);
    assert.equal(time.read('90m', NOW), NOW - 5_400_000);
    assert.equal(time.read('2026-11-01', NOW), Date.UTC(2026, 10, 1));
    assert.equal(time.read('2026-11-01T08:00:00+01:00', NOW), Date.UTC(2026, 10, 1, 7));
    assert.equal(time.read('2026-11-01 08:30', NOW), Date.UTC(2026, 10, 1, 8, 30));
    assert.equal(time.read(String(NOW), NOW), NOW);
    assert.deepEqual(
      ['', '1', 'true', '0', 'false', 'yes'].map((text) => queryFlag('').read(text, NOW)),
      [...[true, true, true, false, false], null],
    );
    assert.equal(queryWord('', ['cpu', 'peak']).read('peak', NOW), 'peak');
    assert.equal(queryCount('', 50).read('50', NOW), 50);
    assert.equal(queryShare('').read('0.25', NOW), 0.25);
    assert.equal(pathName('').read('bob', NOW), 'bob');
    assert.deepEqual(queryWords('', ['lost', 'running']).read('running,lost,running', NOW), ['running', 'lost']);
    for (const amount of [0, 0.1 + 0.2, 4 * 2 ** 30, 5e-7, Number.MAX_SAFE_INTEGER])
      assert.equal(queryAmount('').read(String(amount), NOW), amount);
  });

  it('are refused if they are invalid', () => {
    for (const text of ['', '0', '01', '-1', '4711.', '4711.0', '.3', '4711.3.1', '1e3', '99999999999', '４７'])
      assert.equal(pathJob.read(text, NOW), null, text);
    for (const text of [
      '',
      'never',
      '2026-13-01',
      '2026-02-30x',
      '7y',
      '1e12',
      '-5',
      '253402300800000',
      '7d ',
      '1999'.repeat(5),
    ])
      assert.equal(time.read(text, NOW), null, text);
    for (const text of ['', '0', '51', '-1', '1.5', '0x1', '1 '])
      assert.equal(queryCount('', 50).read(text, NOW), null, text);
    for (const text of ['', '1.1', '-0.1', '.5', '1e-3', 'NaN'])
      assert.equal(queryShare('').read(text, NOW), null, text);
    for (const text of ['', ',', 'lost,', 'lost,done', 'constructor', 'lost, running'])
      assert.equal(queryWords('', ['lost', 'running']).read(text, NOW), null, text);
    for (const text of ['', '-1', 'Infinity', '1e999', '0x10', '1.', ' 1', '9'.repeat(17)])
      assert.equal(queryAmount('').read(text, NOW), null, text);
    assert.equal(queryName('').read('', NOW), null);
    assert.equal(queryName('').read('x'.repeat(4097), NOW), null);
    assert.equal(queryWord('', ['cpu']).read('constructor', NOW), null);
  });

  it('match their schema for any accepted text, and never throw', () => {
    const all: readonly Parameter<unknown>[] = [
      pathJob,
      pathName(''),
      queryFlag(''),
      queryWord('', ['cpu', 'peak']),
      time,
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...all),
        fc.oneof(fc.string(), fc.string({ unit: anyCharacter }), fc.stringMatching(/^[\d.dhmTZ:+-]*$/)),
        (parameter, text) => {
          const value = parameter.read(text, NOW);
          if (value === null) return;
          assert.deepEqual(schemaFaults(text, parameter.schema, {}), []);
          if (typeof value === 'number') assert.ok(value >= 0 && value <= 253402300799999);
        },
      ),
    );
  });
});
