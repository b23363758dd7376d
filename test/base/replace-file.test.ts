import assert from 'node:assert/strict';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { replaceFile } from '../../src/base/replace-file';
import { noRoomFor } from '../support/full-disk';
import { temporaryDirectory } from '../support/temporary-directory';

describe('replaceFile', () => {
  it('leaves only the old file when the disk is full', (t) => {
    const directory = temporaryDirectory();
    const path = join(directory, 'a');
    replaceFile(path, 'old', 0o600);
    noRoomFor(t, (name) => name.startsWith(path));
    assert.throws(() => replaceFile(path, 'new', 0o600), /ENOSPC/);
    assert.deepEqual(readdirSync(directory), ['a']);
    assert.equal(readFileSync(path, 'utf8'), 'old');
  });

  it('does not follow a link at the name of its temporary file', () => {
    const directory = temporaryDirectory();
    const [path, other] = [join(directory, 'a'), join(directory, 'other')];
    writeFileSync(other, "another user's");
    symlinkSync(other, `${path}.${process.pid}.new`);
    replaceFile(path, 'new', 0o600);
    assert.deepEqual([readFileSync(path, 'utf8'), readFileSync(other, 'utf8')], ['new', "another user's"]);
  });
});
