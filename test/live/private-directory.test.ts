import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { privateDirectory } from '../../src/live/private-directory';
import { temporaryDirectory } from '../support/temporary-directory';

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('the directory that live commands share', () => {
  it('is in the runtime directory, accessible to the user only', () => {
    const runtime = temporaryDirectory();
    const path = privateDirectory({ XDG_RUNTIME_DIR: runtime, HOME: '/nowhere' });
    assert.equal(path, join(runtime, 'qmemacct'));
    assert.equal(modeOf(path), 0o700);
    chmodSync(path, 0o777);
    assert.equal(privateDirectory({ XDG_RUNTIME_DIR: runtime }), path);
    assert.equal(modeOf(path), 0o700);
  });

  it('is in the home directory, by host, where the runtime directory is missing or not trusted', () => {
    const home = temporaryDirectory();
    const planted = temporaryDirectory();
    chmodSync(planted, 0o777);
    const expected = join(home, '.cache/qmemacct', hostname());
    for (const runtime of ['', 'relative', '/no/such/place', planted])
      assert.equal(privateDirectory({ XDG_RUNTIME_DIR: runtime, HOME: home }), expected);
    assert.equal(privateDirectory({ HOME: home }), expected);
    assert.equal(modeOf(expected), 0o700);
    assert.equal(modeOf(join(home, '.cache/qmemacct')), 0o700);
  });

  it('may be behind a symbolic link in place of .cache', () => {
    const home = temporaryDirectory();
    const elsewhere = temporaryDirectory();
    symlinkSync(elsewhere, join(home, '.cache'));
    privateDirectory({ HOME: home });
    assert.equal(modeOf(join(elsewhere, 'qmemacct', hostname())), 0o700);
  });

  it('is refused where others could have planted it', () => {
    const shared = temporaryDirectory();
    chmodSync(shared, 0o1777);
    assert.throws(() => privateDirectory({ HOME: shared }), /is not the user's own, or others may write in it/);

    const linked = temporaryDirectory();
    mkdirSync(join(linked, 'target'), { mode: 0o700 });
    symlinkSync(join(linked, 'target'), join(linked, 'qmemacct'));
    assert.throws(() => privateDirectory({ XDG_RUNTIME_DIR: linked }), /ELOOP|ENOTDIR/);

    const file = temporaryDirectory();
    writeFileSync(join(file, 'qmemacct'), '');
    assert.throws(() => privateDirectory({ XDG_RUNTIME_DIR: file }), /ENOTDIR/);
  });

  it(
    'is refused where it belongs to another user',
    { skip: process.getuid?.() !== 0 && 'only root can give it away' },
    () => {
      const runtime = temporaryDirectory();
      mkdirSync(join(runtime, 'qmemacct'), { mode: 0o700 });
      chownSync(join(runtime, 'qmemacct'), 65534, 65534);
      assert.throws(() => privateDirectory({ XDG_RUNTIME_DIR: runtime }), /qmemacct belongs to user 65534/);
    },
  );
});
