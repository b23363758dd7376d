import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { inheritedFlags, samplerFlags, tuningFlags } from '../../src/base/node-flags';

describe('options of Node', () => {
  it('are known to this Node, those for hook.conf among them', () => {
    const { status, stdout } = spawnSync(process.execPath, [...samplerFlags(), '-p', '40 + 2'], { encoding: 'utf8' });
    assert.equal(status, 0);
    assert.equal(stdout, '42\n');
    for (const flag of tuningFlags()) assert.ok(samplerFlags().includes(flag));
  });

  it('are handed on, but for those of a test runner, a debugger or code given as a word', () => {
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

  it('of `node -e` start nothing a second time', () => {
    const code = `console.log(JSON.stringify(require(${JSON.stringify(require.resolve('../../src/base/node-flags'))}).inheritedFlags()))`;
    const { stdout } = spawnSync(process.execPath, ['--single-threaded', '-e', code], { encoding: 'utf8' });
    assert.equal(stdout, '["--single-threaded"]\n');
  });
});
