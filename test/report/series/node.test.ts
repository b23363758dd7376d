import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { displayWidth } from '../../../src/report/screen/text-width';
import type { MetricSeries } from '../../../src/report/series/metric-series';
import { renderNode, renderSeriesTable, type NodeReport } from '../../../src/report/series/node';
import { assertGolden } from '../golden';
import { after } from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

const START = Date.parse(after(0));
const GIB = 2 ** 30;

function series(
  metric: string,
  kind: MetricSeries['kind'],
  next: (index: number) => number,
  instance = '',
): MetricSeries {
  const ticks = Array.from({ length: 60 }, (_, index) => index);
  return { metric, instance, unit: '', kind, at: ticks.map((tick) => START + tick * 10_000), values: ticks.map(next) };
}

const record = {
  cluster: 'cell',
  job_id: 4711,
  task_id: null,
  owner: 'bob',
  job_name: 'align_reads',
  status: 'running',
} as const;
const task = {
  cluster: 'cell',
  job_id: 4720,
  task_id: 7,
  owner: '\u001b[31meve',
  job_name: 'sweep',
  status: 'finished',
} as const;

const report: NodeReport = {
  host: 'node07',
  since: new Date(START),
  until: new Date(START + 600_000),
  series: [
    series('loadavg_1min', 'gauge', (index) => 3 + index / 40),
    series('loadavg_5min', 'gauge', () => 3),
    series('cpu_busy_percent', 'gauge', (index) => 60 + (index % 30)),
    series('meminfo_mem_available_bytes', 'gauge', (index) => (64 - index / 4) * GIB),
    ...Array.from({ length: 9 }, (_, disk) =>
      series('disk_read_bytes', 'counter', (index) => index * disk * 5e6, `nvme${disk}n1`),
    ),
    series('hwmon_temperature_celsius', 'gauge', (index) => 45 + (index % 10), 'coretemp Package id 0'),
    series('rapl_energy_joules', 'counter', (index) => index * 950, 'package-0'),
  ],
  jobs: [
    { record, cpu_seconds: 1900, seconds: 600, max_rss_bytes: 12.5 * GIB },
    { record: task, cpu_seconds: 0.4, seconds: 0, max_rss_bytes: GIB },
  ],
  processes: [
    { record, pid: 31_415, command: 'samtools\u0007', cpu_seconds: 1800, seconds: 600, max_rss_bytes: 12 * GIB },
  ],
};

describe('renderNode', () => {
  it('shows a host', () => assertGolden('node', renderNode(report, testScreen())));

  it('keeps within 80 columns, harmless', () => {
    for (const unicode of [true, false])
      for (const line of renderNode(report, testScreen({ width: 80, unicode }))) {
        assert.ok(displayWidth(line) <= 80, line);
        assert.doesNotMatch(line, /\p{C}/u);
      }
  });

  it('says so where there is nothing', () => {
    const lines = renderNode({ ...report, series: [], jobs: [], processes: [] }, testScreen());
    assert.deepEqual(lines.slice(1), ['', 'No series of the node in this time.']);
  });

  it('lists chosen metrics, every instance', () => {
    const lines = renderSeriesTable(
      report.series.filter(({ metric }) => metric === 'disk_read_bytes'),
      testScreen(),
    );
    assert.equal(lines.length, 10);
    assert.match(lines[9] ?? '', /^disk_read_bytes nvme8n1 +3\.81 MiB\/s +3\.81 MiB\/s +3\.81 MiB\/s$/);
  });
});
