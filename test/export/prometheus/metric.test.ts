import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { family, renderMetrics, single } from '../../../src/export/prometheus/metric';
import { nodeMetrics } from '../../../src/export/prometheus/node-metrics';
import { SERVER_METRICS } from '../../../src/export/prometheus/server-metrics';
import { metricFacts } from '../../../src/cli/metric-facts';

const owners = family<readonly string[], string>({
  name: 'owner',
  labels: ['owner'],
  items: (names) => names,
  labelsOf: (name) => [name],
  figures: [
    { name: 'name_length', unit: '', help: 'a\\b\nc', value: (name) => (name === 'unknown' ? null : name.length) },
  ],
});

describe("Prometheus' text", () => {
  it('escapes names that users chose, and leaves out unknown figures', () => {
    assert.equal(
      renderMetrics(owners, ['bob', 'a"b\\c\nd', 'unknown']),
      '# HELP qmemacct_owner_name_length a\\\\b\\nc\n# TYPE qmemacct_owner_name_length gauge\n' +
        'qmemacct_owner_name_length{owner="bob"} 3\nqmemacct_owner_name_length{owner="a\\"b\\\\c\\nd"} 7\n',
    );
    assert.equal(renderMetrics(owners, ['unknown']), '');
  });

  it('has a series once where the source has the same labels twice', () => {
    assert.equal(renderMetrics(owners, ['bob', 'bob']).match(/owner="bob"/g)?.length, 1);
  });

  it('writes every number as Prometheus reads it', () => {
    const values = [0, 1.5, 1e300, Infinity, -Infinity, NaN].map((value, index) =>
      single<null>(`value_${index}`, {}, 'a value', () => value),
    );
    const printed = renderMetrics(values, null).match(/^qmemacct_value_\d (.*)$/gm);
    assert.deepEqual(
      printed?.map((line) => line.split(' ')[1]),
      ['0', '1.5', '1e+300', '+Inf', '-Inf', 'NaN'],
    );
  });
});

it('every metric has a name of its own that ends in its base unit, and valid labels', () => {
  for (const metrics of [SERVER_METRICS, nodeMetrics(metricFacts())]) {
    const names = metrics.map(({ name }) => name);
    assert.deepEqual(
      names.filter((name, index) => names.indexOf(name) !== index),
      [],
    );
    for (const { name, type, unit, labels, help } of metrics) {
      assert.match(name, /^qmemacct_[a-z][a-z0-9_]*$/);
      assert.equal(name.endsWith('_total'), type === 'counter', name);
      if (unit !== '') assert.ok(name.replace(/_total$/, '').endsWith(`_${unit}`), `${name}: ${unit}`);
      assert.ok(help !== '' && labels.every((label) => /^[a-z][a-z_]*$/.test(label) && label !== 'instance'), name);
    }
  }
});
