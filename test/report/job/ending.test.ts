import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeEnding, endingLabel, endingSignal, succeeded } from '../../../src/report/job/ending';
import { endedBadly } from '../../../src/record/job-end';
import { accountOf } from '../../support/records';
import { killedAtLimit, lost, ordinary, running, unsampled } from '../sample-records';

describe('the end of a job', () => {
  it('is described by exit status and signal', () => {
    assert.equal(describeEnding(ordinary), 'exit status 0');
    assert.equal(
      describeEnding(killedAtLimit),
      'killed by SIGKILL (exit status 137); Grid Engine: failed 37 (a limit was enforced: h_rt, h_cpu or h_vmem)',
    );
    assert.equal(describeEnding({ ...ordinary, exit_status: 139 }), 'exit status 139, which means SIGSEGV');
    assert.equal(describeEnding({ ...ordinary, exit_status: 255 }), 'exit status 255');
    assert.equal(describeEnding({ ...ordinary, failed: 99 }), 'exit status 0; Grid Engine: failed 99');
    assert.equal(describeEnding(lost), 'exit status not known');
  });

  it('has a label in every state', () => {
    const label = (changes: object): string => endingLabel({ ...ordinary, ...changes });
    assert.equal(label({}), 'ok');
    assert.equal(label({ exit_status: 1 }), 'exit 1');
    assert.equal(label({ exit_status: 134 }), 'SIGABRT');
    assert.equal(label({ signal: 15 }), 'SIGTERM');
    assert.equal(label({ failed: 7 }), 'failed 7');
    assert.equal(label({ exit_status: null, signal: null }), 'ended');
    assert.equal(endingLabel(running), 'running');
    assert.equal(endingLabel(lost), 'lost');
    assert.equal(endingLabel({ ...lost, failed: 19, exit_status: 0 }), 'lost');
    assert.equal(endingLabel({ ...lost, failed: 0, exit_status: 3 }), 'exit 3', 'the accounting saw the end');
    assert.equal(endingLabel(unsampled), 'ok');
    const byForce = { failed: 0, exit_status: 0, signal: 0, grid_engine: accountOf() };
    assert.equal(endingLabel({ ...unsampled, ...byForce }), 'unsampled');
    assert.equal(endingLabel({ ...lost, ...byForce, ended_at: ordinary.ended_at }), 'lost');
    assert.equal(endedBadly({ ...unsampled, ...byForce }), true, 'a forced deletion is a bad end');
    assert.equal(endedBadly({ ...ordinary, ...byForce }), false, 'it was over before');
    assert.equal(endingLabel({ ...lost, ...byForce, ended_at: lost.started_at }), 'ok');
    assert.equal(endingLabel({ ...unsampled, exit_status: null, signal: null }), 'unsampled');
  });

  it('counts as neither success nor failure where it is unknown', () => {
    assert.equal(succeeded(lost), null);
    assert.equal(endedBadly(lost), false);
    assert.equal(succeeded(ordinary), true);
    assert.equal(succeeded({ ...ordinary, failed: 100 }), false);
    assert.equal(succeeded({ ...ordinary, exit_status: null, signal: null, failed: 37 }), false);
    assert.equal(endingSignal({ ...ordinary, exit_status: 128 }), 0);
  });
});
