import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askDialect } from '../../src/gridengine/ask-dialect';
import type { Qconf } from '../../src/gridengine/qconf';

const qconfPrinting = (stdout: string, stderr = ''): Qconf => {
  return (args) => {
    assert.deepEqual(args, ['-help']);
    return Promise.resolve({ status: 0, stdout, stderr });
  };
};

describe('askDialect', () => {
  it('reads the version from the first line of the help, on stdout or stderr', async () => {
    const expected = { dialect: 'sge8.1.9', version: '8.1.9' };
    assert.deepEqual(await askDialect(qconfPrinting('SGE 8.1.9\nusage: qconf [options]\n')), expected);
    assert.deepEqual(await askDialect(qconfPrinting('', 'SGE 8.1.9\nusage: qconf\n')), expected);
  });

  it('does not guess a dialect from an error or without qconf', async () => {
    assert.equal((await askDialect(qconfPrinting('', 'error: commlib error: got select error\n')))?.dialect, 'unknown');
    assert.equal(await askDialect(null), null);
    assert.equal(await askDialect(() => Promise.reject(new Error('no such file'))), null);
  });
});
