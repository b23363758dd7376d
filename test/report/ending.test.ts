import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeEnding, endingLabel, endingSignal, memoryVerdict, succeeded } from '../../src/report/ending';
import { killedAtLimit, lost, openBracket, ordinary, running, unsampled } from './sample-records';

const GIB = 1024 ** 3;

describe('how a job ended', () => {
  it('names exit statuses and signals', () => {
    assert.equal(describeEnding(ordinary), 'exit status 0');
    assert.equal(
      describeEnding(killedAtLimit),
      'killed by SIGKILL (exit status 137); Grid Engine: failed 37 (a limit was enforced: h_rt, h_cpu or h_vmem)',
    );
    assert.equal(describeEnding({ ...ordinary, exit_status: 139 }), 'exit status 139, as a shell tells SIGSEGV');
    assert.equal(describeEnding({ ...ordinary, exit_status: 255 }), 'exit status 255');
    assert.equal(describeEnding({ ...ordinary, failed: 99 }), 'exit status 0; Grid Engine: failed 99');
    assert.equal(describeEnding(lost), 'exit status not known');
  });

  it('has a label for every state', () => {
    const label = (changes: object): string => endingLabel({ ...ordinary, ...changes });
    assert.equal(label({}), 'ok');
    assert.equal(label({ exit_status: 1 }), 'exit 1');
    assert.equal(label({ exit_status: 134 }), 'SIGABRT');
    assert.equal(label({ signal: 15 }), 'SIGTERM');
    assert.equal(label({ failed: 7 }), 'failed 7');
    assert.equal(label({ exit_status: null, signal: null }), 'ended');
    assert.equal(endingLabel(running), 'running');
    assert.equal(endingLabel(lost), 'lost');
    assert.equal(endingLabel(unsampled), 'unsampled');
  });

  it('knows when it does not know', () => {
    assert.equal(succeeded(lost), null);
    assert.equal(succeeded(ordinary), true);
    assert.equal(succeeded({ ...ordinary, failed: 100 }), false);
    assert.equal(endingSignal({ ...ordinary, exit_status: 128 }), 0);
  });
});

describe('memoryVerdict', () => {
  it("is consistent with Grid Engine's kill only near the limit", () => {
    assert.equal(memoryVerdict(killedAtLimit)?.consistent, true);
    const small = { ...killedAtLimit, peak_rss_swap: openBracket(GIB, null, null), failed: null };
    assert.equal(memoryVerdict(small)?.consistent, false);
    assert.match(memoryVerdict(small)?.text ?? '', /^No sign of h_vmem: it held 25 % of it/);
  });

  it('is consistent with refused memory where the address space was full', () => {
    const refused = { ...ordinary, exit_status: 134, peak_process_vmem: openBracket(15.9 * GIB, null, null) };
    assert.equal(
      memoryVerdict(refused)?.text,
      'Its end is consistent with refused memory: the address space of a process had reached 99 % of h_vmem.',
    );
  });

  it('says nothing of a job that ended well or had no limit', () => {
    assert.equal(memoryVerdict(ordinary), null);
    assert.equal(memoryVerdict({ ...killedAtLimit, h_vmem: null }), null);
  });
});
