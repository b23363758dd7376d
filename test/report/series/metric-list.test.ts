import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  renderMetricCsv,
  renderMetricJson,
  renderMetricList,
  renderMetricMarkdown,
} from '../../../src/report/series/metric-list';
import { testScreen } from '../screens';

const FACTS = [
  {
    name: 'netdev_received_bytes',
    unit: 'bytes',
    kind: 'counter',
    scope: 'node',
    instance: 'interface',
    source: 'netdev',
    reads: ['/proc/net/dev', 'a|b'],
    interval: 10,
    enabled: false,
    help: 'What came in, in words that go on and on until the line of the screen is at its end and beyond it.',
  },
];

describe('the list of metrics', () => {
  it('shows source, state, unit and meaning', () => {
    assert.deepEqual(renderMetricList(FACTS, testScreen({ width: 80 })), [
      'netdev  off (every 10 s when on)',
      '  /proc/net/dev, a|b',
      '  netdev_received_bytes  bytes  counter  node  per interface',
      '      What came in, in words that go on and on until the line of the screen is',
      '      at its end and beyond it.',
    ]);
  });

  it('is also written as Markdown, JSON and CSV', () => {
    assert.match(
      renderMetricMarkdown(FACTS).split('\n')[2] ?? '',
      /^\| `netdev_received_bytes` \| bytes \| counter \| node \| interface \| `netdev` \| `\/proc\/net\/dev a\\\|b` \| 10 \| off \| What/,
    );
    assert.deepEqual((JSON.parse(renderMetricJson(FACTS)) as { metrics: unknown }).metrics, FACTS);
    assert.match(renderMetricCsv(FACTS), /^name,.*\nnetdev_received_bytes,bytes,counter,.*,10,off,/);
  });
});
