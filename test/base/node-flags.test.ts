import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { inheritedFlags, samplerFlags, tuningFlags } from '../../src/base/node-flags';

describe('Node options', () => {
  it('for a sampler are accepted by this Node and include those for hook.conf', () => {
    const { status, stdout } = spawnSync(process.execPath, [...samplerFlags(), '-p', '40 + 2'], { encoding: 'utf8' });
    assert.equal(status, 0);
    assert.equal(stdout, '42\n');
    for (const flag of tuningFlags()) assert.ok(samplerFlags().includes(flag));
  });

  it('are inherited, except those of a test runner, a debugger or code on the command line', () => {
    const own = ['--single-threaded', '--jitless', '--max-old-space-size=24', '--no-memory-reducer', '--cpu-prof'];
    assert.deepEqual(inheritedFlags(own), own);
    for (const foreign of [
      ['-e', 'main()'],
      ['--eval', '--main()'],
      ['-p', '--x'],
      ['--eval=main()'],
      ['--test'],
      ['--test-name-pattern=one'],
      ['--test-name-pattern', 'one'],
      ['--inspect-brk=0'],
      ['-r', './hook.js'],
      ['--import=./hook.mjs'],
    ])
      assert.deepEqual(inheritedFlags([...foreign, ...own]), own, foreign.join(' '));
  });

  it('inherited from `node -e` do not run its code again', () => {
    const code = `console.log(JSON.stringify(require(${JSON.stringify(require.resolve('../../src/base/node-flags'))}).inheritedFlags()))`;
    const { stdout } = spawnSync(process.execPath, ['--single-threaded', '-e', code], { encoding: 'utf8' });
    assert.equal(stdout, '["--single-threaded"]\n');
  });
});
