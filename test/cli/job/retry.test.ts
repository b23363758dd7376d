import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { retryOf, showRetry } from '../../../src/cli/job/retry';
import type { JobRecord } from '../../../src/record/record';
import { modest, tenMinutesOf } from '../../report/bad-ends';
import {
  asRuns,
  killedAtLimit,
  openBracket,
  ordinary,
  provedBracket,
  running,
  unsampled,
} from '../../report/sample-records';
import { fakeTerminal } from '../fake-terminal';

const GIB = 1024 ** 3;

function shown(
  records: readonly JobRecord[],
  json = false,
  terminal = fakeTerminal(),
  mayWait = true,
): { status: number; output: string; warnings: string } {
  const report = { job_id: 4712, runs: asRuns([...records]), older: 0, newer: 0, mayWait };
  const status = showRetry(report, json ? 'json' : 'text', 'unknown', terminal);
  return { status, output: terminal.output(), warnings: terminal.warnings() };
}

describe('qmemacct job --retry', () => {
  it('prints what to request now where memory ended the job', () => {
    assert.deepEqual(shown([killedAtLimit]), { status: 0, output: 'h_vmem=6G\n', warnings: '' });
    const { status, output } = shown([killedAtLimit], true);
    assert.equal(status, 0);
    const answer = JSON.parse(output) as Readonly<Record<string, unknown>>;
    assert.deepEqual([answer.job_id, answer.ended_by_memory, answer.request], [4712, true, 'h_vmem=6G']);
  });

  it('requests what past runs of its kind predict where that is more', () => {
    const prediction = {
      ...{ amount: 9 * GIB, risk: 0.01, runs: 40, largest: 8 * GIB },
      ...{ sameProgram: false, stoppedAt: null, mostlyStopped: false },
    };
    const runs = asRuns([killedAtLimit]).map((run) => ({ ...run, prediction }));
    assert.equal(retryOf({ runs }, 'unknown', new Date(), true).request, 'h_vmem=9G');
  });

  it('ends with status 4 and a request where memory is one of several causes', () => {
    const held = openBracket(4.1 * GIB, null, null);
    const peaks = { peak_rss: held, peak_rss_swap: held };
    const account = tenMinutesOf({ category: '-l h_rt=600' });
    const killed = { ...modest, ...peaks, job_id: 4712, signal: 9, exit_status: 137, failed: 37, grid_engine: account };
    assert.match(shown([killed], true).output, /"ended_by_memory":null,"request":"h_vmem=.*Possible causes: /);
    const { status, output, warnings } = shown([killed]);
    assert.equal(status, 4);
    assert.match(output, /^h_vmem=/);
    assert.match(warnings, /^qmemacct: job 4712: Possible causes: /);
    const both = shown([
      { ...killed, task_id: 1 },
      { ...killedAtLimit, task_id: 2 },
    ]);
    assert.equal(both.status, 0);
  });

  it('ends with status 1 where the job ended otherwise, with 4 where that is not known yet', () => {
    const well = shown([ordinary]);
    assert.deepEqual([well.status, well.output], [1, '']);
    assert.match(well.warnings, /^qmemacct: job 4712: it succeeded$/m);
    const account = { ...ordinary, exit_status: 3, failed: 0 };
    assert.equal(shown([account]).status, 1);
    assert.equal(shown([running]).status, 4);
    assert.equal(shown([{ ...ordinary, exit_status: null, signal: null }]).status, 4);
    assert.equal(shown([]).status, 4);
    const open = { ...killedAtLimit, task_id: 2, status: 'running' as const, ended_at: null };
    assert.match(shown([{ ...killedAtLimit, task_id: 1 }, open], true).output, /"ended_by_memory":null,"request":null/);
  });

  it('ends with status 4 for a rescheduled job until its last run is known', () => {
    for (const again of [{ failed: 25, exit_status: 99 }, { failed: 24 }, { failed: null, exit_status: 99 }])
      assert.deepEqual([shown([{ ...ordinary, ...again }]).status, again], [4, again]);
    assert.equal(shown([{ ...ordinary, failed: 0, exit_status: 99 }]).status, 1, 'where rescheduling is forbidden');
  });

  it('ends with status 1 for a rescheduled job that Grid Engine does not list any more', () => {
    const again = { ...ordinary, failed: 25, exit_status: 99 };
    const later = (seconds: number): Date => new Date(Date.parse(again.ended_at ?? '') + 1000 * seconds);
    const answer = (seconds: number): ReturnType<typeof shown> =>
      shown([again], false, fakeTerminal({ now: () => later(seconds) }), false);
    assert.deepEqual([answer(5).status, answer(61).status], [4, 1]);
    assert.match(answer(61).warnings, /Grid Engine says failed 25/);
  });

  it("waits a minute for the samplers' record where only Grid Engine's line has come", () => {
    const failed = { ...unsampled, exit_status: 1, h_vmem: null };
    const secondsLater = (seconds: number): number => {
      const now = (): Date => new Date(Date.parse(failed.ended_at ?? '') + 1000 * seconds);
      return shown([failed], false, fakeTerminal({ now })).status;
    };
    assert.deepEqual([secondsLater(5), secondsLater(59), secondsLater(61)], [4, 4, 1]);
  });

  it("waits a minute for Grid Engine's line where only that shows what killed the job, then doubles the request", () => {
    const held = openBracket(GIB / 10, null, null);
    const peaks = { peak_rss: held, peak_rss_swap: held, peak_process_vmem: held };
    const killed = { ...killedAtLimit, ...peaks, exit_status: 137, signal: 9, failed: null, grid_engine: null };
    const later = (seconds: number): ReturnType<typeof shown> => {
      const now = (): Date => new Date(Date.parse(killed.ended_at ?? '') + 1000 * seconds);
      return shown([killed], false, fakeTerminal({ now }));
    };
    assert.deepEqual([later(5).status, later(5).output], [4, '']);
    assert.deepEqual([later(61).status, later(61).output], [4, 'h_vmem=8G\n']);
  });

  it('does not rule memory out where it was limited and too few samples show how it grew', () => {
    const failed = { ...unsampled, exit_status: 1 };
    const { status, output, warnings } = shown([failed]);
    assert.deepEqual([status, output], [4, 'h_vmem=100M\n'], 'twice the 50M of before');
    assert.match(warnings, /^qmemacct: job 4712: whether memory ended it is not known: it was sampled too seldom/m);
    assert.equal(shown([{ ...failed, exit_status: 0 }]).status, 1);
    const open = openBracket(GIB / 10, null, null);
    const few = { ...killedAtLimit, exit_status: 1, signal: 0, failed: 0, samples: 4, peak_process_vmem: open };
    assert.equal(shown([few]).status, 4);
    assert.equal(shown([{ ...few, samples: 40 }]).status, 1);
    assert.equal(shown([{ ...few, peak_process_vmem: provedBracket(GIB / 10, GIB / 10, null, null) }]).status, 1);
  });
});
