import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newSampleRows, sampleRowCsv, sampleRowJson } from '../../../src/report/series/sample-rows';

const START = Date.UTC(2026, 10, 20);
const context = { jobId: '12', pid: 99, cwd: '/home', command: 'a "b", c\n', host: 'h', user: '=x' };
const sample = (ms: number, cpu: number, rss: number) => ({
  at: START + ms,
  started: START,
  cpu_seconds: cpu,
  rss,
  vmem: 2 * rss,
  swap: 0,
  processes: 2,
  threads: 3,
  read_bytes: 1,
  written_bytes: 2,
  read_chars: 3,
  written_chars: 4,
});

describe('rows of samples', () => {
  it('tell CPU use since the row before, since the start, and the peaks', () => {
    const toRow = newSampleRows(context);
    const rows = [sample(50, 0.05, 10), sample(1050, 0.05, 30), sample(2050, 2.05, 20), sample(3050, 2.05, 20)].map(
      toRow,
    );
    assert.deepEqual(
      rows.map((row) => [row.CPUPercent, row.PeakCPUPercent, row.LifetimeCPUPercent, row.PeakRSS, row.ClockTime]),
      [
        [100, 0, 100, 10, 0.05],
        [0, 4.76, 4.76, 30, 1.05],
        [200, 200, 100, 30, 2.05],
        [0, 200, 67.21, 30, 3.05],
      ],
    );
    assert.equal(rows[0]?.Timestamp, '2026-11-20T00:00:00.050Z');
  });

  it('are lines of JSON and CSV, harmless', () => {
    const row = newSampleRows(context)(sample(1000, 1, 10));
    assert.deepEqual(JSON.parse(sampleRowJson(row)), row);
    const [head = '', line = '', ...rest] = sampleRowCsv(row, true).split('\n');
    assert.match(
      head,
      /^JobID,Type,PID,CWD,CMD,Hostname,User,Timestamp,CPUTime,ClockTime,CPUPercent,PeakCPUPercent,RBytes/,
    );
    assert.equal(
      line,
      `12,qmemacct.Sample,99,/home,"a ""b"", c\\x0a",h,'=x,2026-11-20T00:00:01.000Z,1,1,100,100,1,2,3,4,10,10,20,100,0,2,3`,
    );
    assert.deepEqual(rest, ['']);
    assert.equal(sampleRowCsv(row, false), `${line}\n`);
  });
});
