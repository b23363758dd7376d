import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderMemoryChart } from '../../../src/report/screen/memory-chart';
import type { JobRecord } from '../../../src/record/record';
import { modest } from '../bad-ends';
import { after, openBracket, provedBracket } from '../sample-records';
import { testScreen } from '../screens';

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

const exact = (bytes: number): JobRecord['peak_rss'] => provedBracket(bytes, bytes, after(30), 'sim');

/** A record whose memory stays at so many bytes: its curve and its peaks. */
const standing = (bytes: number, changes: Partial<JobRecord> = {}): JobRecord => ({
  ...modest,
  peak_rss: exact(bytes),
  peak_rss_swap: exact(bytes),
  peak_process_vmem: exact(bytes),
  peak_footprint: exact(bytes),
  series: { start: after(0), step_seconds: 5, rss_bytes: Array.from({ length: 120 }, () => bytes), others: {} },
  ...changes,
});

function captionOf(record: JobRecord): string {
  const lines = renderMemoryChart(record, 100, testScreen());
  const end = lines.findIndex((line) => /[┤│]/.test(line));
  return lines.slice(0, end).join(' ');
}

describe('the memory chart', () => {
  it('has a caption that says what is drawn', () => {
    assert.equal(captionOf(standing(GIB)), 'RSS of all processes together');
    assert.equal(captionOf(standing(GIB, { peak_rss: exact(1.09 * GIB) })), 'RSS of all processes together');
  });

  it('explains why the curve stays far below the peak', () => {
    const peak = { ...openBracket(4.8 * GIB, after(30), 'worker'), sources: ['sample' as const] };
    const forks = captionOf(standing(81 * MIB, { peak_rss: peak, peak_rss_swap: peak }));
    assert.match(forks, /^RSS of all processes together; the peak of 4\.80 GiB counts forked processes, too,/);
    const mark = { ...peak, sources: ['exit-record' as const] };
    assert.match(captionOf(standing(81 * MIB, { peak_rss: mark, peak_rss_swap: mark })), /was between two samples$/);
  });

  it('names swap, address space and memory without shared pages where they differ from the curve', () => {
    const caption = (changes: Partial<JobRecord>): string => captionOf(standing(GIB, changes));
    assert.match(caption({ peak_rss_swap: exact(1.5 * GIB) }), /; with swap 1\.50 GiB$/);
    assert.match(
      caption({ peak_process_vmem: exact(3 * GIB) }),
      /; the largest address space, which h_vmem limits, too, was 3\.00 GiB$/,
    );
    assert.match(caption({ peak_footprint: exact(100 * MIB) }), /; without what processes share 100 MiB$/);
    const upToLimit = { ...provedBracket(100 * MIB, 900 * MIB, after(30), 'sim'), sources: ['limit' as const] };
    assert.match(caption({ peak_footprint: upToLimit }), /; without what processes share 100 MiB$/);
  });

  it('is left out without a series', () => {
    assert.deepEqual(renderMemoryChart({ ...modest, series: null }, 100, testScreen()), []);
  });
});
