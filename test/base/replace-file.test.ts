import assert from 'node:assert/strict';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { replaceFile } from '../../src/base/replace-file';
import { temporaryDirectory } from '../support/temporary-directory';

it('replaceFile leaves the old file, and nothing else, where the disk is full', () => {
  const directory = temporaryDirectory();
  const path = join(directory, 'a');
  replaceFile(path, 'old', 0o600);
  symlinkSync('/dev/full', `${path}.${process.pid}.new`);
  assert.throws(() => replaceFile(path, 'new', 0o600), /ENOSPC/);
  assert.deepEqual(readdirSync(directory), ['a']);
  assert.equal(readFileSync(path, 'utf8'), 'old');
});
