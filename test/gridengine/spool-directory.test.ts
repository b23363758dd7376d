import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { parseJobDirectoryName, parsePeTaskDirectoryName } from '../../src/gridengine/spool-directory';

describe('parseJobDirectoryName', () => {
  it('reads JOB.TASK', () => {
    assert.deepEqual(parseJobDirectoryName('1516.1'), { jobId: 1516, task: 1 });
    assert.deepEqual(parseJobDirectoryName('9999999.75000'), { jobId: 9999999, task: 75000 });
  });

  it('refuses other names', () => {
    for (const name of ['1516', '1516.', '.1', '1516.1.0', '0.1', '1.0', '01.1', '1.1\n', '../1.1', '1 .1', '']) {
      assert.equal(parseJobDirectoryName(name), null, name);
    }
  });

  it('reads back every pair of numbers', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9_999_999 }), fc.integer({ min: 1, max: 9_999_999 }), (jobId, task) =>
        assert.deepEqual(parseJobDirectoryName(`${jobId}.${task}`), { jobId, task }),
      ),
    );
  });
});

describe('parsePeTaskDirectoryName', () => {
  it('reads SEQ.HOST', () => {
    assert.deepEqual(parsePeTaskDirectoryName('1.ge1'), { sequence: 1, host: 'ge1' });
    assert.deepEqual(parsePeTaskDirectoryName('12.node-7.site'), { sequence: 12, host: 'node-7.site' });
  });

  it('refuses other names', () => {
    for (const name of ['ge1', '1.', '.ge1', '1.a/b', '1.a\n', '0.ge1', 'past_usage']) {
      assert.equal(parsePeTaskDirectoryName(name), null, name);
    }
  });
});
