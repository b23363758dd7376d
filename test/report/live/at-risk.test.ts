import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtRisk } from '../../../src/live/at-risk';
import type { Trend } from '../../../src/live/cluster-view';
import { riskLine } from '../../../src/report/live/at-risk';
import { HOSTILE_NAME } from '../../live/snapshots';
import { liveScreen, oneJob, trendIn } from './sample-view';

process.env.TZ = 'Europe/Berlin';

function risk(trend: Trend | null, changes: Partial<AtRisk> = {}, name = 'grow'): AtRisk {
  const job = oneJob(4711, { name, task: 3 });
  const [part] = job.parts;
  assert.ok(part !== undefined);
  return { job, part, reason: 'trend', share: 0.5, trend, ...changes };
}

const lineOf = (of: AtRisk): string => riskLine(of, liveScreen());

describe('riskLine', () => {
  it('names owner, job and host, and says when, how much and how sure', () => {
    assert.equal(
      lineOf(risk(trendIn(30))),
      "alice's job 4711.3 (grow) on node01 reaches its limit at 13:30 (in 0:30:00, between 13:28 and 13:34): " +
        '2.00 GiB of 4 GiB, +3.52 GiB/h, steady growth',
    );
  });

  it('leaves out what is not known', () => {
    assert.match(
      lineOf(risk(trendIn(30, { latest: null, confidence: 'low' }))),
      /\(in 0:30:00, 13:28 at the earliest\): .*a guess$/,
    );
    assert.match(
      lineOf(risk(trendIn(30, { earliest: null, confidence: 'medium' }))),
      /\(in 0:30:00\): .*uneven growth$/,
    );
    assert.match(lineOf(risk(trendIn(2000), { share: null })), /at 11-21 22:20 \(.*\): \+3\.52 GiB\/h/);
    const sure = trendIn(30);
    assert.match(lineOf(risk({ ...sure, earliest: sure.limitAt, latest: sure.limitAt })), /\(in 0:30:00\)/);
  });

  it('names jobs that have reached their limit', () => {
    assert.match(
      lineOf(risk(null, { reason: 'full', share: 0.97 })),
      / has reached 97 % of its limit: 3\.88 GiB of 4 GiB$/,
    );
    assert.match(lineOf(risk(null, { reason: 'full', share: 1.2 })), / has reached its limit: 4\.80 GiB of 4 GiB$/);
    assert.match(lineOf(risk(trendIn(-1), { share: 1 })), / has reached its limit: /);
  });

  it('is one line without control characters, whatever the names are', () => {
    assert.doesNotMatch(lineOf(risk(trendIn(30), {}, HOSTILE_NAME)), /\p{C}/u);
  });
});
