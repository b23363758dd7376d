import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newSeriesBuffer } from '../../../src/sampler/series/series-buffer';
import { packSeries, unpackSeries } from '../../../src/sampler/series/series-codec';
import { battery } from '../../../src/sources/node/battery';
import { hwmon } from '../../../src/sources/node/hwmon';
import type { Metric, Reading } from '../../../src/sources/source';

const metric = (name: string, resolution?: number): Metric => ({
  name,
  unit: 'count',
  kind: 'gauge',
  scope: 'node',
  help: '',
  ...(resolution === undefined ? {} : { resolution }),
});
const reading = (name: string, value: number, instance = ''): Reading => ({ metric: name, instance, value });
const METRICS = [metric('a_x'), metric('a_seconds', 1000), metric('b_x')];

describe('a series buffer', () => {
  it('keeps values as integers, by source and column', () => {
    const buffer = newSeriesBuffer(METRICS);
    buffer.add('a', 1000.4, [reading('a_x', 5), reading('a_seconds', 1.23456)]);
    buffer.add('b', 1500, [reading('b_x', 1, 'eth0'), reading('b_x', 2, 'a name')]);
    buffer.add('a', 2000, [reading('a_x', 6), reading('a_seconds', -0.0001)]);
    assert.deepEqual(buffer.take(), [
      {
        source: 'a',
        at: [1000, 2000],
        columns: [
          { metric: 'a_x', instance: '', resolution: 1, values: [5, 6] },
          { metric: 'a_seconds', instance: '', resolution: 1000, values: [1235, 0] },
        ],
      },
      {
        source: 'b',
        at: [1500],
        columns: [
          { metric: 'b_x', instance: 'eth0', resolution: 1, values: [1] },
          { metric: 'b_x', instance: 'a name', resolution: 1, values: [2] },
        ],
      },
    ]);
    assert.deepEqual(buffer.take(), []);
  });

  it('has null where a metric was not read at a time', () => {
    const buffer = newSeriesBuffer(METRICS);
    buffer.add('b', 1, [reading('b_x', 1, 'eth0')]);
    buffer.add('b', 2, [reading('b_x', 2, 'eth1')]);
    buffer.add('b', 3, [reading('b_x', 3, 'eth0')]);
    assert.deepEqual(
      buffer.take()[0]?.columns.map(({ values }) => values),
      [
        [1, null, 3],
        [null, 2, null],
      ],
    );
  });

  it('keeps negative values to the last digit through the packed form', () => {
    const buffer = newSeriesBuffer([...hwmon.metrics, ...battery.metrics]);
    const expected = {
      hwmon_temperature_celsius: [-3.2, -40, 0, 21.5],
      hwmon_voltage_volts: [-0.008, -11.984, -5, 12.096],
      battery_power_watts: [-14.25, -14.25, -14.25, -14.25],
    };
    const times = [0, 1, 2, 3];
    for (const at of times)
      buffer.add(
        'sensors',
        at * 1000,
        Object.entries(expected).map(([name, values]) => reading(name, values[at] ?? 0, 'x')),
      );
    const columns = buffer.take()[0]?.columns ?? [];
    const packed = packSeries(0, [
      { id: 1, at: times.map((at) => at * 1000), columns: columns.map(({ values }, id) => ({ id, values })) },
    ]);
    const unpacked = unpackSeries(0, packed)?.[0]?.columns ?? [];
    assert.deepEqual(
      Object.fromEntries(
        columns.map(({ metric: name, resolution }, id) => [
          name,
          unpacked[id]?.values.map((value) => (value ?? Number.NaN) / resolution),
        ]),
      ),
      expected,
    );
  });

  it('leaves out values of single processes, values that are not numbers, and unknown metrics', () => {
    const buffer = newSeriesBuffer(METRICS);
    buffer.add('a', 1, [{ ...reading('a_x', 5), pid: 7 }, reading('a_seconds', Number.NaN), reading('c', 1)]);
    assert.deepEqual(buffer.take(), []);
  });
});
