import assert from 'node:assert/strict';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { readSecret } from '../../src/base/secret-file';
import { temporaryDirectory } from '../support/temporary-directory';

it('reads a secret only from a regular file that nobody else can read, and not through a link', () => {
  const directory = temporaryDirectory();
  const path = join(directory, 'password');
  writeFileSync(path, 'se cret\nrest\n', { mode: 0o600 });
  assert.equal(readSecret(path, 'mail_credentials'), 'se cret');
  chmodSync(path, 0o640);
  assert.throws(() => readSecret(path, 'mail_credentials'), /chmod 600/);
  chmodSync(path, 0o600);
  symlinkSync(path, join(directory, 'link'));
  assert.throws(() => readSecret(join(directory, 'link'), 'mail_credentials'), /link/);
  writeFileSync(path, '\n');
  assert.throws(() => readSecret(path, 'mail_credentials'), /first line is empty/);
  assert.throws(() => readSecret(directory, 'mail_credentials'), /not a regular file/);
});
