import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  closeSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openOutput, untrusted, UntrustedError } from '../../src/base/trusted-path';
import { temporaryDirectory } from '../support/temporary-directory';

const asRoot = { skip: process.getuid?.() === 0 ? false : 'only root can give files away' };
const USER = 65_534;

function directoryWithFile(): string {
  const top = temporaryDirectory(0o755);
  mkdirSync(join(top, 'a/b'), { recursive: true });
  writeFileSync(join(top, 'a/b/file'), '');
  return top;
}

describe('a path', asRoot, () => {
  it('of root is trusted, below a sticky directory too, even if its end is missing', () => {
    const top = directoryWithFile();
    for (const path of ['', 'a/b/file', 'a/b/none/at/all', 'a/../a/./b//file'])
      assert.equal(untrusted(`${top}/${path}`), null, path);
    assert.equal(untrusted('/'), null);
    assert.equal(untrusted('relative/path'), 'relative/path is not an absolute path');
  });

  it('is not trusted if another account owns or may write to a part of it', () => {
    const top = directoryWithFile();
    const file = join(top, 'a/b/file');
    chownSync(file, USER, 0);
    assert.equal(untrusted(file), `${file} belongs to uid ${USER}`);
    assert.equal(untrusted(file, new Set([0, USER])), null);
    chownSync(file, 0, 0);
    chmodSync(file, 0o646);
    assert.equal(untrusted(file), `everyone can write to ${file}`);
    chmodSync(file, 0o664);
    assert.equal(untrusted(file), `group 0 can write to ${file}`);
    chownSync(file, 0, USER);
    chmodSync(file, 0o664);
    assert.equal(untrusted(file), `group ${USER} can write to ${file}`);
    chownSync(join(top, 'a'), USER, 0);
    assert.equal(untrusted(file), `${join(top, 'a')} belongs to uid ${USER}`);
  });

  it('is not trusted if others may create its missing end', () => {
    const top = directoryWithFile();
    chmodSync(join(top, 'a/b'), 0o1777);
    assert.equal(untrusted(join(top, 'a/b/none')), `everyone can write to ${join(top, 'a/b')}`);
    assert.equal(untrusted(join(top, 'a/b')), `everyone can write to ${join(top, 'a/b')}`);
    assert.equal(untrusted(join(top, 'a/b/file')), null);
  });

  it('is not trusted if others could change a link on the way', () => {
    const top = directoryWithFile();
    const own = join(top, 'own');
    mkdirSync(own);
    symlinkSync('../a/b', join(own, 'relative'));
    symlinkSync(join(top, 'a'), join(top, 'absolute'));
    assert.equal(untrusted(join(own, 'relative/file')), null);
    assert.equal(untrusted(join(top, 'absolute/b/file')), null);
    // The file is root's, but the user can make the link lead elsewhere.
    chownSync(own, USER, USER);
    assert.equal(untrusted(join(own, 'relative/file')), `${own} belongs to uid ${USER}`);
    symlinkSync(join(own, 'relative'), join(top, 'through'));
    assert.equal(untrusted(join(top, 'through/file')), `${own} belongs to uid ${USER}`);
  });

  it("is not trusted through a user's link in a sticky directory, or if its links form a loop", () => {
    const top = directoryWithFile();
    const sticky = join(top, 'sticky');
    mkdirSync(sticky);
    chmodSync(sticky, 0o1777);
    symlinkSync(join(top, 'a'), join(sticky, 'link'));
    assert.equal(untrusted(join(sticky, 'link/b/file')), null);
    lchownSync(join(sticky, 'link'), USER, USER);
    assert.equal(untrusted(join(sticky, 'link/b/file')), `${join(sticky, 'link')} belongs to uid ${USER}`);
    symlinkSync('loop', join(top, 'loop'));
    assert.match(untrusted(join(top, 'loop')) ?? '', /leads through more than 40 links$/);
  });
});

it("root writes through no link of another user's", asRoot, () => {
  const top = directoryWithFile();
  const [file, link] = [join(top, 'a/b/file'), join(top, 'a/link')];
  writeFileSync(file, 'kept');
  symlinkSync(file, link);
  chownSync(join(top, 'a'), USER, 0);
  assert.throws(() => openOutput(link), UntrustedError);
  assert.equal(readFileSync(file, 'utf8'), 'kept');
  closeSync(openOutput(join(top, 'a/new')));
  chownSync(join(top, 'a'), 0, 0);
  closeSync(openOutput(link));
  assert.equal(readFileSync(file, 'utf8'), '');
});
