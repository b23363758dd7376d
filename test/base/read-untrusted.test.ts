import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';

import { readUntrusted, textOfUntrusted, UnreadError } from '../../src/base/read-untrusted';
import { temporaryDirectory } from '../support/temporary-directory';

const ownUid = process.getuid?.() ?? 0;
const MAX_BYTES = 100;

describe('readUntrusted', () => {
  let directory: string;
  before(() => {
    directory = temporaryDirectory();
    writeFileSync(join(directory, 'usage'), 'exit_status=0\n');
    writeFileSync(join(directory, 'full'), 'x'.repeat(100));
    writeFileSync(join(directory, 'large'), 'x'.repeat(101));
    writeFileSync(join(directory, 'latin1'), Buffer.from([0x66, 0xfc, 0x72]));
    symlinkSync('usage', join(directory, 'link'));
    mkdirSync(join(directory, 'folder'));
    execFileSync('mkfifo', [join(directory, 'fifo')]);
  });

  /** Why the file is not read; null: it is read. */
  function refusal(path: string, trusted: ReadonlySet<number> | null = new Set([ownUid])): string | null {
    try {
      readUntrusted(path, MAX_BYTES, trusted);
      return null;
    } catch (error) {
      assert.ok(error instanceof UnreadError);
      return error.detail;
    }
  }
  const reason = (name: string, trusted?: ReadonlySet<number> | null): string | null =>
    refusal(join(directory, name), trusted);

  it('reads a file of a trusted owner', () => {
    assert.equal(readUntrusted(join(directory, 'usage'), MAX_BYTES, new Set([ownUid])).toString(), 'exit_status=0\n');
  });

  it('reads a file of the largest allowed size and refuses a larger one', () => {
    assert.equal(reason('full'), null);
    assert.equal(reason('large'), 'more than 100 bytes');
    assert.equal(refusal('/dev/zero', null), 'not a regular file');
  });

  it('keeps bytes that are not UTF-8; as text they are replaced', () => {
    const path = join(directory, 'latin1');
    assert.deepEqual([...readUntrusted(path, MAX_BYTES)], [0x66, 0xfc, 0x72]);
    assert.equal(textOfUntrusted(path, MAX_BYTES), 'f\u{fffd}r');
  });

  it('refuses a symbolic link, a FIFO, a directory and a device', () => {
    assert.equal(reason('link'), 'ELOOP');
    assert.equal(reason('fifo'), 'not a regular file');
    assert.equal(reason('folder'), 'not a regular file');
    assert.equal(refusal('/dev/null', null), 'not a regular file');
  });

  it('refuses a file of another owner unless any owner is trusted', () => {
    assert.equal(reason('usage', new Set([ownUid + 1])), `owned by uid ${ownUid}`);
    assert.equal(reason('usage', null), null);
  });

  it('reports an absent file with its path', () => {
    for (const [name, code] of [
      ['config', 'ENOENT'],
      ['usage/x', 'ENOTDIR'],
    ] as const)
      assert.throws(() => readUntrusted(join(directory, name), MAX_BYTES), {
        isAbsent: true,
        message: `${join(directory, name)}: ${code}`,
      });
    assert.equal(textOfUntrusted(join(directory, 'config'), MAX_BYTES), null);
    assert.throws(() => readUntrusted(join(directory, 'folder'), MAX_BYTES), { isAbsent: false });
  });

  it('reports that reading is denied', { skip: ownUid === 0 }, () => {
    writeFileSync(join(directory, 'secret'), '');
    chmodSync(join(directory, 'secret'), 0);
    assert.equal(reason('secret'), 'EACCES');
  });
});
