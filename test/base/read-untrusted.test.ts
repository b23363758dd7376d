import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';

import { readUntrusted, textOfUntrusted, UnreadError } from '../../src/base/read-untrusted';
import { temporaryDirectory } from '../support/temporary-directory';

const own = process.getuid?.() ?? 0;
const MOST = 100;

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

  /** Why it is not read; null: it is. */
  function refusal(path: string, believed: ReadonlySet<number> | null = new Set([own])): string | null {
    try {
      readUntrusted(path, MOST, believed);
      return null;
    } catch (error) {
      assert.ok(error instanceof UnreadError);
      return error.detail;
    }
  }
  const reason = (name: string, believed?: ReadonlySet<number> | null): string | null =>
    refusal(join(directory, name), believed);

  it('reads a file of an owner that is believed', () => {
    assert.equal(readUntrusted(join(directory, 'usage'), MOST, new Set([own])).toString(), 'exit_status=0\n');
  });

  it('reads up to the bound and refuses more', () => {
    assert.equal(reason('full'), null);
    assert.equal(reason('large'), 'more than 100 bytes');
    assert.equal(refusal('/dev/zero', null), 'not a regular file');
  });

  it('keeps foreign bytes', () => {
    const path = join(directory, 'latin1');
    assert.deepEqual([...readUntrusted(path, MOST)], [0x66, 0xfc, 0x72]);
    assert.equal(textOfUntrusted(path, MOST), 'f\u{fffd}r');
  });

  it('follows no link, waits for no FIFO, reads no directory and no device', () => {
    assert.equal(reason('link'), 'ELOOP');
    assert.equal(reason('fifo'), 'not a regular file');
    assert.equal(reason('folder'), 'not a regular file');
    assert.equal(refusal('/dev/null', null), 'not a regular file');
  });

  it('does not believe other owners', () => {
    assert.equal(reason('usage', new Set([own + 1])), `owned by uid ${own}`);
    assert.equal(reason('usage', null), null);
  });

  it('says that a file is absent, with its path', () => {
    for (const [name, code] of [
      ['config', 'ENOENT'],
      ['usage/x', 'ENOTDIR'],
    ] as const)
      assert.throws(() => readUntrusted(join(directory, name), MOST), {
        isAbsent: true,
        message: `${join(directory, name)}: ${code}`,
      });
    assert.equal(textOfUntrusted(join(directory, 'config'), MOST), null);
    assert.throws(() => readUntrusted(join(directory, 'folder'), MOST), { isAbsent: false });
  });

  it('says that reading is denied', { skip: own === 0 }, () => {
    writeFileSync(join(directory, 'secret'), '');
    chmodSync(join(directory, 'secret'), 0);
    assert.equal(reason('secret'), 'EACCES');
  });
});
