import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askDialect } from '../../src/gridengine/ask-dialect';
import type { Qconf } from '../../src/gridengine/qconf';

const saying = (stdout: string, stderr = ''): Qconf => {
  return (args) => {
    assert.deepEqual(args, ['-help']);
    return Promise.resolve({ status: 0, stdout, stderr });
  };
};

describe('askDialect', () => {
  it('takes the first line of the help, wherever it is printed', async () => {
    const expected = { dialect: 'sge8.1.9', version: '8.1.9' };
    assert.deepEqual(await askDialect(saying('SGE 8.1.9\nusage: qconf [options]\n')), expected);
    assert.deepEqual(await askDialect(saying('', 'SGE 8.1.9\nusage: qconf\n')), expected);
  });

  it('does not guess', async () => {
    assert.equal((await askDialect(saying('', 'error: commlib error: got select error\n')))?.dialect, 'unknown');
    assert.equal(await askDialect(null), null);
    assert.equal(await askDialect(() => Promise.reject(new Error('no such file'))), null);
  });
});
