import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { growingHost, growingJob, renderTrend } from '../../../src/report/job/running';
import type { JobRecord } from '../../../src/record/record';
import { after, running } from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

const GIB = 2 ** 30;
const screen = testScreen();
/** Grows by a GiB a minute from nothing; ten minutes of it. */
const growing: JobRecord = {
  ...running,
  revision: screen.now.getTime(),
  h_vmem: { request_bytes: 16 * GIB, limit_bytes: 16 * GIB, per: 'slot' },
  series: {
    start: after(123),
    step_seconds: 5,
    others: {},
    rss_bytes: Array.from({ length: 120 }, (_, index) => Math.round(((index + 1) / 12) * GIB)),
  },
};
const text = (lines: readonly string[]): string => lines.map((line) => line.trim()).join(' ');

describe('renderTrend', () => {
  it('tells when a growing job reaches its limit', () => {
    const words = text(renderTrend(growing, [growingJob(growing)], screen));
    // 10 GiB at 14:14:14, 6 more in six minutes.
    assert.match(
      words,
      /^At this rate it reaches its limit at 14:20: 1\.00 GiB a minute over the last 0:0\d:\d\d; it grows steadily\.$/,
    );
  });

  it('names the host that comes first', () => {
    const slow = {
      ...growing,
      series: growing.series && { ...growing.series, rss_bytes: growing.series.rss_bytes.map((rss) => rss / 2) },
    };
    const parts = [growingHost('n1', [slow], 16 * GIB), growingHost('n\u001b2', [slow, growing], 16 * GIB)];
    const words = text(renderTrend(growing, parts, screen));
    // 15 GiB held together, 1.5 a minute.
    assert.match(words, /^At this rate it reaches its limit on n.+2 at 14:1[45]: 1\.50 GiB a minute/);
    assert.doesNotMatch(words, /\p{Cc}/u);
  });

  it('says nothing of a level job, an ended one, one without a limit, or an old word', () => {
    const level = {
      ...growing,
      series: growing.series && { ...growing.series, rss_bytes: growing.series.rss_bytes.map(() => GIB) },
    };
    assert.deepEqual(renderTrend(level, [growingJob(level)], screen), []);
    assert.deepEqual(renderTrend({ ...growing, status: 'finished' }, [growingJob(growing)], screen), []);
    assert.deepEqual(renderTrend(growing, [{ ...growingJob(growing), limit: null }], screen), []);
    assert.deepEqual(renderTrend(growing, [{ ...growingJob(growing), series: null }], screen), []);
    const old = { ...growing, revision: growing.revision - 3_600_000 };
    assert.deepEqual(renderTrend(old, [growingJob(old)], screen), []);
  });
});
