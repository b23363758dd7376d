import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UserError } from '../../../src/base/user-error';
import { selfTest } from '../../../src/cli/install/self-test';
import { writeStamp } from '../../../src/cli/install/stamp';
import { packageRoot } from '../../../src/base/package-root';

const STATE = '/proc/nothing';

describe('a self-test without a usable state directory', () => {
  it('fails with its cause', async () => {
    const conf = {
      state: STATE,
      run: STATE,
      settings: '/x.toml',
      node: process.execPath,
      program: packageRoot(),
      arm_wait: '0',
      cgroup: 'off',
      scope: 'job',
      cluster: 'c',
    };
    const { ok, problems } = await selfTest(conf, 'nobody');
    assert.equal(ok, false);
    assert.match(String(problems), /^it could not be made: ENOENT.*\/proc\/nothing/);
  });

  it('is an error with cause and fix where its result cannot be stored', () => {
    assert.throws(
      () =>
        writeStamp(
          { state_dir: STATE, cell: '' },
          { prefix: '/opt/x', version: '1', services: [] },
          { ok: true, problems: [] },
        ),
      (error) =>
        error instanceof UserError &&
        /^\/proc\/nothing: what the self-test found can't be noted there: ENOENT.*; let root write/.test(error.message),
    );
  });
});
