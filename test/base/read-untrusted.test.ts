import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';

import { readSpoolFile, type SpoolFileProblem } from '../../src/gridengine/spool-file';
import { temporaryDirectory } from '../support/temporary-directory';

const own = process.getuid?.() ?? 0;
const rules = { maxBytes: 100, trustedUids: new Set([own]) };

describe('readSpoolFile', () => {
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

  const reason = (
    name: string,
    trustedUids: ReadonlySet<number> | null = rules.trustedUids,
  ): SpoolFileProblem | null => {
    const result = readSpoolFile(directory, name, { maxBytes: rules.maxBytes, trustedUids });
    return result.ok ? null : result.error;
  };

  it('reads a file of a trusted owner', () => {
    const result = readSpoolFile(directory, 'usage', rules);
    assert.ok(result.ok);
    assert.equal(result.value.text, 'exit_status=0\n');
    assert.equal(result.value.uid, own);
    assert.equal(result.value.modifiedMs, statSync(join(directory, 'usage')).mtimeMs);
  });

  it('reads up to the bound and refuses more', () => {
    assert.equal(reason('full'), null);
    assert.equal(reason('large')?.reason, 'too-large');
    assert.equal(readSpoolFile('/dev', 'zero', rules).ok, false);
  });

  it('keeps foreign bytes', () => {
    const result = readSpoolFile(directory, 'latin1', rules);
    assert.ok(result.ok);
    assert.deepEqual([...result.value.bytes], [0x66, 0xfc, 0x72]);
    assert.equal(result.value.text, 'f\u{fffd}r');
  });

  it('follows no link, waits for no FIFO, reads no directory and no device', () => {
    assert.equal(reason('link')?.reason, 'link');
    assert.equal(reason('fifo')?.reason, 'not-regular');
    assert.equal(reason('folder')?.reason, 'not-regular');
    const device = readSpoolFile('/dev', 'null', { maxBytes: 1, trustedUids: null });
    assert.equal(device.ok ? '' : device.error.reason, 'not-regular');
  });

  it('does not believe other owners', () => {
    assert.equal(reason('usage', new Set([own + 1]))?.reason, 'untrusted-owner');
    assert.equal(reason('usage', null), null);
  });

  it('says that a file is absent, with its path', () => {
    assert.deepEqual(reason('config'), { reason: 'absent', path: join(directory, 'config'), detail: 'ENOENT' });
    assert.equal(reason('usage/x')?.reason, 'failed');
    assert.equal(readSpoolFile(join(directory, 'usage'), 'x', rules).ok, false);
  });

  it('says that reading is denied', { skip: own === 0 }, () => {
    writeFileSync(join(directory, 'secret'), '');
    chmodSync(join(directory, 'secret'), 0);
    assert.equal(reason('secret')?.reason, 'denied');
  });

  it('takes names only, no paths', () => {
    for (const name of ['', '.', '..', '../x', 'a/b', 'a\0b']) assert.equal(reason(name)?.reason, 'failed', name);
  });
});
