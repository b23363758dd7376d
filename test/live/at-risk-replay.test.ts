import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jobsAtRisk, jobsToWarnOf } from '../../src/live/at-risk';
import { madeCourses } from '../bench/memory-courses';
import { replayCourse, type Watch } from '../bench/risk-replay';

const DAY_MS = 86_400_000;
const ANY_TREND: Watch = (view, nowMs) => jobsAtRisk(view, { withinMs: DAY_MS, nowMs, share: 0.9 });

/** Jobs with these shapes of memory use, and when their owner is first warned. */
function replayed(shapes: readonly string[], watch: Watch = jobsToWarnOf) {
  return madeCourses(8)
    .filter(({ shape }) => shapes.includes(shape))
    .map((course) => {
      const { full, trend } = replayCourse(course, watch);
      const at = Math.min(full ?? Infinity, trend ?? Infinity);
      return { ...course, at, trend, right: at < Infinity && course.overran, wrong: at < Infinity && !course.overran };
    });
}

describe('warnings over whole jobs', () => {
  it('come before steady growth reaches the limit, wherever it starts', () => {
    const growing = replayed(['steady growth', 'exponential']).filter(({ overran }) => overran);
    assert.ok(growing.length >= 4);
    for (const { at, endMs, trend } of growing) assert.ok(trend !== null && at < endMs);
  });

  it('never come for a job whose memory is constant', () => {
    assert.deepEqual(
      replayed(['constant']).map(({ wrong }) => wrong),
      new Array<boolean>(8).fill(false),
    );
  });

  it('are wrong less than half as often as warnings of any trend, and right as often but for one job', () => {
    const shapes = ['loads, then constant', 'levels off', 'steady growth', 'saw-tooth', 'exponential'];
    const count = (watch: Watch) => {
      const jobs = replayed(shapes, watch);
      return { right: jobs.filter(({ right }) => right).length, wrong: jobs.filter(({ wrong }) => wrong).length };
    };
    const [mails, any] = [count(jobsToWarnOf), count(ANY_TREND)];
    assert.ok(2 * mails.wrong < any.wrong, `${mails.wrong} of ${any.wrong}`);
    assert.ok(mails.right >= any.right - 1, `${mails.right} of ${any.right}`);
  });
});
