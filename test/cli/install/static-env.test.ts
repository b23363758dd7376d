import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { loaderReason } from '../../../src/cli/install/elf';
import { unsafeEnv } from '../../../src/cli/install/static-env';
import { temporaryDirectory } from '../../support/temporary-directory';

const BUSYBOX = '/bin/busybox';
const CC = process.env.CC || 'cc';
const NEEDS_ROOT = process.getuid?.() === 0 ? false : 'root trusts what is its own';
const NEEDS_BUSYBOX = existsSync(BUSYBOX) && loaderReason(BUSYBOX) === null ? false : 'no static busybox';

/** Compiles `text` with these options; null: this machine's compiler can't. */
function compiled(directory: string, name: string, text: string, options: readonly string[]): string | null {
  const program = join(directory, name);
  const { status } = spawnSync(CC, ['-x', 'c', '-', '-o', program, ...options], { input: text });
  return status === 0 ? program : null;
}

describe('loaderReason', () => {
  it('tells programs that are linked dynamically from static ones', () => {
    const directory = temporaryDirectory();
    const text = 'int main(void) { return 0; }\n';
    const verdicts = [
      { options: [], expected: /^is linked dynamically$/ },
      { options: ['-static'], expected: null },
      { options: ['-static-pie'], expected: null },
    ].flatMap(({ options, expected }, index) => {
      const program = compiled(directory, `program${index}`, text, options);
      return program === null ? [] : [{ reason: loaderReason(program), expected, options }];
    });
    for (const { reason, expected, options } of verdicts)
      if (expected === null) assert.equal(reason, null, options.join(' '));
      else assert.match(reason ?? 'static', expected, options.join(' '));
    assert.match(loaderReason(process.execPath) ?? 'static', /dynamically/);
  });

  it('takes a program for dynamic that names libraries but no interpreter', (t) => {
    const directory = temporaryDirectory();
    const program = compiled(directory, 'program', 'int main(void) { return 0; }\n', ['-no-pie']);
    if (program === null) {
      t.skip('no C compiler');
      return;
    }
    const bytes = readFileSync(program);
    // PT_INTERP of the first program headers becomes PT_NULL.
    for (let at = 64; at < 64 + 56 * bytes.readUInt16LE(56); at += 56)
      if (bytes.readUInt32LE(at) === 3) bytes.writeUInt32LE(0, at);
    writeFileSync(program, bytes);
    assert.equal(loaderReason(program), 'is linked dynamically');
  });

  it('refuses what is no whole ELF program', () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'file');
    for (const bytes of [
      '',
      '#!/bin/sh\n',
      '\x7fELF',
      `\x7fELF\x02\x01${'\0'.repeat(10)}`,
      `\x7fELF\x02\x01${'\xff'.repeat(200)}`,
    ]) {
      writeFileSync(path, bytes, 'latin1');
      assert.match(loaderReason(path) ?? 'static', /not an ELF program|damaged/);
    }
  });
});

describe('the env of root hooks where Grid Engine leaves LD_AUDIT', { skip: NEEDS_ROOT || NEEDS_BUSYBOX }, () => {
  it('can be a link to a static busybox, or a copy', () => {
    const directory = temporaryDirectory();
    symlinkSync(BUSYBOX, join(directory, 'env'));
    assert.equal(unsafeEnv(join(directory, 'env')), null);
    mkdirSync(join(directory, 'copy'));
    copyFileSync(BUSYBOX, join(directory, 'copy', 'env'));
    assert.equal(unsafeEnv(join(directory, 'copy', 'env')), null);
  });

  it('cannot be dynamic, missing, a script, or writable by anyone but root', () => {
    const directory = temporaryDirectory();
    const env = join(directory, 'env');
    assert.match(unsafeEnv('/usr/bin/env') ?? 'safe', /linked dynamically/);
    assert.match(unsafeEnv(env) ?? 'safe', /is not there/);
    assert.match(unsafeEnv(directory) ?? 'safe', /is not a file/);
    writeFileSync(env, '#!/bin/sh\nexec /usr/bin/env "$@"\n', { mode: 0o755 });
    assert.match(unsafeEnv(env) ?? 'safe', /not an ELF program/);
    copyFileSync(BUSYBOX, env);
    assert.equal(unsafeEnv(env), null);
    chmodSync(env, 0o777);
    assert.match(unsafeEnv(env) ?? 'safe', /everyone can write/);
    chmodSync(env, 0o755);
    chownSync(env, 65534, 65534);
    assert.match(unsafeEnv(env) ?? 'safe', /belongs to uid 65534/);
    chownSync(env, 0, 0);
    chownSync(directory, 65534, 65534);
    assert.match(unsafeEnv(env) ?? 'safe', /belongs to uid 65534/);
  });

  it('must start a shell as env does', () => {
    const directory = temporaryDirectory();
    copyFileSync(BUSYBOX, join(directory, 'true'));
    assert.match(unsafeEnv(join(directory, 'true')) ?? 'safe', /does not start a shell/);
    assert.match(unsafeEnv(BUSYBOX) ?? 'safe', /does not start a shell/);
  });
});
