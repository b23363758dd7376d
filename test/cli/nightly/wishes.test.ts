import assert from 'node:assert/strict';
import { chownSync, linkSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { namesOf } from '../../../src/cli/nightly/user-ids';
import { readWishes, wishOf, writeWish } from '../../../src/cli/nightly/wishes';
import { temporaryDirectory } from '../../sampler/temporary-directory';

const uid = process.geteuid?.() ?? -1;
const name = (owner: number, rest = '0123456789abcdef'): string => `${owner}.${rest}`;

describe('wishes about digests', () => {
  it('are what a user said last', (t) => {
    const directory = temporaryDirectory(t);
    assert.equal(wishOf(directory, uid), null);
    for (const wish of ['on', 'off', 'on'] as const) {
      writeWish(directory, wish);
      assert.equal(wishOf(directory, uid), wish);
    }
    assert.equal(readdirSync(directory).length, 1);
    assert.equal(statSync(join(directory, readdirSync(directory)[0] ?? '')).mode & 0o777, 0o644);
    assert.deepEqual([...readWishes(directory)], [[uid, 'on']]);
  });

  it('are believed of nobody but the owner of a plain file', (t) => {
    const directory = temporaryDirectory(t);
    const outside = join(directory, 'outside');
    writeFileSync(outside, 'on\n');
    writeFileSync(join(directory, name(uid + 1)), 'on\n');
    symlinkSync(outside, join(directory, name(uid)));
    mkdirSync(join(directory, name(uid, 'aaaaaaaaaaaaaaaa')));
    writeFileSync(join(directory, `${uid}.x`), 'on\n');
    writeFileSync(join(directory, name(uid, 'bbbbbbbbbbbbbbbb')), 'maybe\n');
    linkSync(outside, join(directory, name(uid, 'cccccccccccccccc')));
    assert.deepEqual([...readWishes(directory)], []);
    writeWish(directory, 'off');
    assert.deepEqual([...readWishes(directory)], [[uid, 'off']]);
  });

  it('of another user are told by the file', { skip: uid !== 0 && 'needs root' }, (t) => {
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, name(12345)), 'on\n');
    assert.deepEqual([...readWishes(directory)], []);
    chownSync(join(directory, name(12345)), 12345, 12345);
    assert.deepEqual([...readWishes(directory)], [[12345, 'on']]);
  });

  it('none, where there is no directory; an error only for who wants to say something', () => {
    assert.deepEqual([...readWishes('/nonexistent/digest')], []);
    assert.throws(() => writeWish('/nonexistent/digest', 'on'), { code: 'ENOENT' });
  });

  it('get their names from the name service', async () => {
    const names = await namesOf([0, 4_000_000_000]);
    assert.deepEqual([...names], [[0, 'root']]);
    assert.equal((await namesOf([])).size, 0);
  });
});
