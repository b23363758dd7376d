import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { jsonAccountingLine } from '../../src/gridengine/accounting-json';
import { isProblem, type AccountingRecord } from '../../src/gridengine/accounting-line';
import { parseAccountingLine } from './parse-accounting-line';

const figures = {
  wallclock: 63.25,
  cpu: 12.5,
  mem: 3.75,
  io: 0.5,
  ioops: 12,
  iow: 0.1,
  maxvmem: 322961408,
  maxrss: 1e8,
};
const line = (usage: unknown, more: object = {}): string =>
  JSON.stringify({
    job_number: 1516,
    task_number: 0,
    start_time: 1763700012123456,
    end_time: 1763700075373456,
    owner: 'alice',
    group: 'users',
    account: 'sge',
    qname: 'all.q',
    hostname: 'ge1',
    department: 'defaultdepartment',
    granted_pe: 'smp',
    slots: 2,
    job_name: 'a:b "c"',
    priority: 0,
    submission_time: 1763700000000001,
    category: '-l h_vmem=1G,h_rt=24:00:00',
    failed: 100,
    exit_status: 137,
    usage,
    ...more,
  });
const rusage = { ru_wallclock: 63, ru_utime: 12.25, ru_stime: 0.25, ru_maxrss: 315172, ru_minflt: 5, ru_nvcsw: 7 };

function read(text: string): AccountingRecord {
  const result = jsonAccountingLine(text);
  assert.ok(!isProblem(result), isProblem(result) ? result.detail : '');
  return result;
}

describe('jsonAccountingLine', () => {
  it('reads lines of OCS 9.0 and 9.1 alike', () => {
    const old = read(line({ rusage, usage: figures }));
    const now = read(line({ rusage, eusage: figures }, { deleted_by: 'root@ge0' }));
    assert.deepEqual({ ...now, deletedBy: null }, old);
    assert.equal(now.deletedBy, 'root@ge0');
    assert.equal(old.jobId, 1516);
    assert.equal(old.jobName, 'a:b "c"');
    assert.equal(old.startTimeMs, 1763700012123);
    assert.equal(old.submissionTimeMs, 1763700000000);
    assert.equal(old.wallclockSeconds, 63);
    assert.equal(old.cpuSeconds, 12.5);
    assert.equal(old.userSeconds, 12.25);
    assert.equal(old.maxrssBytes, 315172 * 1024);
    assert.equal(old.jobMaxrssBytes, 1e8);
    assert.equal(old.maxvmemBytes, 322961408);
    assert.equal(old.category, '-l h_vmem=1G,h_rt=24:00:00');
    assert.deepEqual([old.project, old.peTaskId], [null, null]);
  });

  it('reads the submit command without its secrets', () => {
    const submit = (text?: string): string | null => read(line({}, { submit_cmd_line: text })).submitCommand;
    assert.equal(
      submit('qsub -cwd -l h_rt=600 -v NAP=1 /home/alice/job.sh x'),
      'qsub -cwd -l h_rt=600 -v NAP /home/alice/job.sh ...',
    );
    assert.deepEqual([submit('NONE'), submit()], [null, null]);
  });

  it('returns null for a maxvmem that was not collected', () => {
    const rest = { ...figures, maxvmem: undefined };
    assert.equal(read(line({ rusage, eusage: rest })).maxvmemBytes, null);
  });

  it('reads a negative priority and a job that never started', () => {
    assert.deepEqual(read(line({}).replace('"priority":0', '"priority":18446744073709551606')), read(line({})));
    const never = read(line({}, { start_time: 0, end_time: 0 }));
    assert.deepEqual([never.startTimeMs, never.endTimeMs, never.wallclockSeconds], [null, null, 0]);
  });

  it('refuses lines that are no record', () => {
    for (const text of [
      '{',
      '{}',
      '{"job_number":1}',
      '{"job_number":"1","owner":"a"}',
      '{"a":1}x',
      '{"job_number":1,',
    ])
      assert.equal(isProblem(jsonAccountingLine(text)), true, text);
  });

  it('reads the lines that begin with a brace, and never throws', () => {
    assert.equal(parseAccountingLine(line({ rusage, eusage: figures })).ok, true);
    fc.assert(fc.property(fc.json(), (text) => void jsonAccountingLine(text)));
    fc.assert(fc.property(fc.string(), (text) => void jsonAccountingLine(`{${text}`)));
  });
});
