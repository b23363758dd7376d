import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isReservedUsage } from '../../src/gridengine/reserved-usage';
import { parseAccountingLine } from './parse-accounting-line';

const RUSAGE = '0.170857:0.174840:62896.000000:0:0:0:0:15969:0:0:0.000000:16:0:0:0:4:86';

/** A line as 8.1.9 wrote it of a job of 13 s; `usage`: cpu, mem, io, category, iow, PE task, maxvmem. */
function read(usage: string, pe = 'loose', slots = 4): readonly (number | null)[] {
  const job = `all.q:ge1:alice:alice:sim:72:sge:0:1795991419:1795991419:1795991432:0:0:13:${RUSAGE}`;
  const line = parseAccountingLine(`${job}:NONE:defaultdepartment:${pe}:${slots}:0:${usage}:0:0`);
  assert.ok(line.ok);
  return [line.value.cpuSeconds, line.value.maxvmemBytes];
}

describe('an accounting line with what was reserved (ACCT_RESERVED_USAGE)', () => {
  const used = 0.170857 + 0.17484;

  it('is known by its figures, whatever the slots are multiplied by', () => {
    const request = '-l h_vmem=500M -pe loose 4';
    // 500M once for the job, and reserved for its four slots and one more, as the PE has job_is_first_task FALSE.
    assert.deepEqual(read(`65.000000:31.738281:0.000036:${request}:0.000000:NONE:2621440000.000000`), [used, null]);
    assert.deepEqual(read(`9.000000:4.394531:0.000036:${request}:0.000000:1.ge2:524288000.000000`), [used, null]);
    assert.deepEqual(read('14.000000:0.000000:0.000036:NONE:0.000000:NONE:0.000000', 'NONE', 1), [used, null]);
  });

  it('is not taken for one that was measured', () => {
    for (const [usage, cpu, maxvmem] of [
      ['65.010000:31.738281:0.000036:NONE:0.000000:NONE:2621440000.000000', 65.01, 2_621_440_000],
      ['65.000000:31.738300:0.000036:NONE:0.000000:NONE:2621440000.000000', 65, 2_621_440_000],
      ['2.000000:0.000000:0.000036:NONE:0.000000:NONE:0.000000', 2, 0],
    ] as const)
      assert.deepEqual(read(usage), [cpu, maxvmem]);
    assert.equal(isReservedUsage(0, 0, 0), false);
  });
});
