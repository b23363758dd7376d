import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readTraceFile } from '../../src/advice/trace-file';
import { temporaryDirectory } from '../support/temporary-directory';

const HEAD = 'trace,submit,end,class,peak_bytes,runtime_seconds,request_bytes,input_bytes';

function file(content: string | Buffer, name = 'jobs.csv'): string {
  const directory = temporaryDirectory();
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

const TEXT = `${HEAD}\nx,10.5,20,align,1000,9.5,4000,\ny,0,1,sort,7,1,,3\n`;

describe('a file of past jobs', () => {
  it('gives the runs of each trace', async () => {
    for (const path of [file(TEXT), file(gzipSync(TEXT), 'jobs.csv.gz')]) {
      const read = await readTraceFile(path);
      assert.ok(read.ok);
      assert.deepEqual([...read.value.keys()], ['x', 'y']);
      assert.deepEqual(
        [...(read.value.get('x')?.bySubmission() ?? [])],
        [
          {
            submit: 10.5,
            end: 20,
            classes: ['align'],
            needed: 1000,
            stoppedAt: null,
            seconds: 9.5,
            requested: 4000,
          },
        ],
      );
      assert.equal([...(read.value.get('y')?.bySubmission() ?? [])][0]?.requested, null);
    }
  });

  it('reads a request of 0 as none', async () => {
    const read = await readTraceFile(file(`${HEAD}\nx,1,2,a,1000,1,0,\n`));
    assert.equal([...((read.ok && read.value.get('x')?.bySubmission()) || [])][0]?.requested, null);
  });

  it('is refused with an empty or infinite number, or a negative request', async () => {
    for (const line of ['x,,2,a,7,1,,', 'x,1,,a,7,1,,', 'x,1,2,a,7,,,', 'x,1,2,a,Infinity,1,,', 'x,1,2,a,7,1,-1,']) {
      const read = await readTraceFile(file(`${HEAD}\n${line}\n`));
      assert.match(read.ok ? 'read' : read.error, /line 2: a number is missing or is not a number/, line);
    }
  });

  it('is refused with the place of the problem', async () => {
    const lacking = await readTraceFile(file('trace,submit,end\n'));
    assert.match(lacking.ok ? '' : lacking.error, /jobs\.csv: no column class, peak_bytes, runtime_seconds/);
    const garbage = await readTraceFile(file(`${TEXT}x,1,2,a,many,1,,\n`));
    assert.match(garbage.ok ? '' : garbage.error, /line 4: a number is missing/);
    const absent = await readTraceFile('/nowhere/jobs.csv');
    assert.match(absent.ok ? '' : absent.error, /\/nowhere\/jobs\.csv: .*no such file/);
    const cut = await readTraceFile(file(gzipSync(TEXT).subarray(0, 40), 'cut.csv.gz'));
    assert.equal(cut.ok, false);
    const empty = await readTraceFile(file(''));
    assert.match(empty.ok ? '' : empty.error, /empty/);
  });
});
