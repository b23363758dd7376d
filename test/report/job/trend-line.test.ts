import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wholeOf, type RunRecords } from '../../../src/report/job/job-whole';
import { renderTrend } from '../../../src/report/job/running';
import type { JobRecord } from '../../../src/record/record';
import { after, running } from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

const GIB = 2 ** 30;
const screen = testScreen();
/** A job whose memory grows by a GiB a minute, from 0, for ten minutes. */
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
const trend = (...records: RunRecords): string =>
  renderTrend(wholeOf(records), screen)
    .map((line) => line.trim())
    .join(' ');

describe('renderTrend', () => {
  it('says when a growing job reaches its limit', () => {
    const words = trend(growing);
    // 10 GiB at 14:14:14; 6 GiB more take six minutes.
    assert.match(
      words,
      /^At this rate it reaches its limit at 14:20: 1\.00 GiB a minute over the last 0:0\d:\d\d; it grows steadily\.$/,
    );
  });

  it('names the host that reaches its limit first', () => {
    const slow = {
      ...growing,
      series: growing.series && { ...growing.series, rss_bytes: growing.series.rss_bytes.map((rss) => rss / 2) },
    };
    const [n1, n2] = ['n1', 'n\u001b2'];
    const words = trend(
      { ...slow, host: n1, granted_hosts: [n1, n2].map((host) => ({ host, slots: 1 })) },
      { ...slow, host: n2, pe_task_id: `1.${n2}` },
      { ...growing, host: n2, pe_task_id: `2.${n2}` },
    );
    // Together the two tasks hold 15 GiB and grow by 1.5 GiB a minute.
    assert.match(words, /^At this rate it reaches its limit on n.+2 at 14:1[45]: 1\.50 GiB a minute/);
    assert.doesNotMatch(words, /\p{Cc}/u);
  });

  it('is empty for a level job, an ended one, one without a limit, and one with an old heartbeat', () => {
    const level = {
      ...growing,
      series: growing.series && { ...growing.series, rss_bytes: growing.series.rss_bytes.map(() => GIB) },
    };
    assert.equal(trend(level), '');
    assert.equal(trend({ ...growing, status: 'finished' }), '');
    assert.equal(trend({ ...growing, h_vmem: null, requests: {} }), '');
    assert.equal(trend({ ...growing, series: null }), '');
    const old = { ...growing, revision: growing.revision - 3_600_000 };
    assert.equal(trend(old), '');
  });
});
