import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { reasonOf } from '../../src/sampler/log';

describe('reasonOf', () => {
  it('is one line for any error', () => {
    assert.equal(reasonOf(new Error('first\nsecond')), 'first');
    assert.equal(reasonOf('text'), 'text');
    assert.equal(reasonOf(undefined), 'undefined');
    assert.equal(reasonOf(new Error('')), '');
  });
});

describe('warn', () => {
  function warned(env: Readonly<Record<string, string>>): { readonly status: number | null; readonly stderr: string } {
    const script = `const { warn } = require(process.argv[1]); for (let i = 0; i < 15; i++) warn('message ' + i);`;
    return spawnSync(process.execPath, ['-e', script, require.resolve('../../src/sampler/log')], {
      env: { PATH: '/no/such', ...env },
      encoding: 'utf8',
    });
  }

  it('goes to the terminal where there is one to tell', () => {
    const { status, stderr } = warned({ QMEMACCT_LOG: 'stderr' });
    assert.equal(status, 0);
    assert.equal(stderr.split('\n').filter((line) => line.startsWith('qmemacct: message ')).length, 15);
  });
});
