import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  formatQuantity,
  formatRate,
  splitMetric,
  unitOfMetric,
  type QuantityUnit,
} from '../../../src/report/format/quantity';
import { testScreen } from '../screens';

const { glyphs } = testScreen();
const format = (value: number, unit: QuantityUnit): string => formatQuantity(value, unit, glyphs);

describe('formatQuantity', () => {
  it('gives each unit its usual form', () => {
    assert.deepEqual(
      [
        format(1_644_167_168, 'bytes'),
        format(-1024, 'bytes'),
        format(4.25, 'seconds'),
        format(512, 'joules'),
        format(1234.5, 'joules'),
        format(4_120_000, 'joules'),
        format(95.25, 'watts'),
        format(3.4e9, 'hertz'),
        format(1e10, 'bits_per_second'),
        format(-3.25, 'celsius'),
        format(12_345, 'rpm'),
        format(87.4, 'percent'),
        format(1.8947, 'ratio'),
        format(1.05, 'volts'),
        format(2.5 * 3600 * 1024 ** 3, 'byte_seconds'),
        format(15_483_600_000, 'byte_seconds'),
      ],
      [
        '1.53 GiB',
        '-1.00 KiB',
        '4.3 s',
        '512 J',
        '1.23 kJ',
        '4.12 MJ (1.14 kWh)',
        '95.3 W',
        '3.40 GHz',
        '10.0 Gbit/s',
        '-3.3 °C',
        '12,345 rpm',
        '87 %',
        '1.89',
        '1.05 V',
        '2.50 GiB·h',
        '4.10 MiB·h',
      ],
    );
  });

  it('counts up to millions in full, and shortens larger numbers', () => {
    assert.deepEqual(
      [0, 7, 123_456, 9_999_999, 41_230_000_000_000, 0.25, -5, -12_345].map((value) => format(value, 'count')),
      ['0', '7', '123,456', '9,999,999', '41.2 T', '0.250', '-5', '-12,345'],
    );
  });

  it('prints any number in fewer than 40 characters', () => {
    const unit = fc.constantFrom<QuantityUnit>(
      'bytes',
      'byte_seconds',
      'joules',
      'count',
      'celsius',
      'percent',
      'ratio',
      'hertz',
    );
    fc.assert(
      fc.property(fc.double({ min: -1e20, max: 1e20, noNaN: true }), unit, (value, of) =>
        assert.ok(/\d/.test(format(value, of)) && format(value, of).length < 40, format(value, of)),
      ),
    );
  });

  it('gives a rate per second', () => {
    assert.deepEqual(
      [
        formatRate(2.5, 'seconds', glyphs),
        formatRate(95, 'joules', glyphs),
        formatRate(1024, 'bytes', glyphs),
        formatRate(1024, 'byte_seconds', glyphs),
      ],
      ['2.50 s/s', '95 W', '1.00 KiB/s', '1.00 KiB'],
    );
  });
});

describe('the name of a metric', () => {
  it('is split into source, subject and unit', () => {
    assert.deepEqual(
      [
        'rapl_package_joules',
        'netdev_speed_bits_per_second',
        'oom_kills',
        'uptime_seconds',
        'taskstats_rss_byte_seconds',
      ].map((name) => [unitOfMetric(name), splitMetric(name)]),
      [
        ['joules', { source: 'rapl', what: 'package' }],
        ['bits_per_second', { source: 'netdev', what: 'speed' }],
        ['count', { source: 'oom', what: 'kills' }],
        ['seconds', { source: 'uptime', what: 'uptime' }],
        ['byte_seconds', { source: 'taskstats', what: 'rss' }],
      ],
    );
  });
});
