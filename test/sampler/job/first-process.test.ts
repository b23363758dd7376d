import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FirstProcess } from '../../../src/sampler/job/first-process';
import { startTicksOf } from '../../../src/sampler/job/pid-file';
import { wallClockOfTicks } from '../../../src/sources/proc/clock';
import { temporaryDirectory } from '../../support/temporary-directory';
import { runOf } from '../../support/runs';

const HOUR_MS = 3_600_000;

describe('the first process of a job that another sampler began', () => {
  const spool = join(temporaryDirectory(), '1516.1');
  mkdirSync(spool, { recursive: true });
  writeFileSync(join(spool, 'job_pid'), `${process.pid}\n`);
  const first = (startMs: number): FirstProcess => {
    const made = new FirstProcess(runOf({ spool }));
    made.resume(startMs);
    return made;
  };
  const startedMs = wallClockOfTicks(startTicksOf(process.pid) ?? 0);

  it('is the process of job_pid where the start times match', () => {
    const { pid, uid } = first(startedMs);
    assert.deepEqual([pid, uid], [process.pid, process.getuid?.()]);
  });

  it('is unknown where another process has that pid by now', () => {
    const { pid, uid } = first(startedMs - HOUR_MS);
    assert.deepEqual([pid, uid], [null, null]);
  });
});
