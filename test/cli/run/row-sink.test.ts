import assert from 'node:assert/strict';
import { chmodSync, closeSync, constants, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openRowSink } from '../../../src/cli/run/row-sink';
import { makeFifo } from '../../../src/native/libc';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

/** Whether the reader gets bytes now. */
function hasBytes(reader: number): boolean {
  try {
    return readSync(reader, Buffer.alloc(1000)) > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    return false;
  }
}

describe('openRowSink', () => {
  it('replaces the content of a file', async () => {
    const path = join(temporaryDirectory(), 'rows');
    writeFileSync(path, 'old rows\n');
    const sink = openRowSink('--csv', path);
    for (let row = 0; row < 100; row++) sink.write(`${row}\n`);
    assert.equal(await sink.end(), null);
    assert.equal(readFileSync(path, 'utf8'), Array.from({ length: 100 }, (_, row) => `${row}\n`).join(''));
  });

  it('returns the error of a full device', async () => {
    const sink = openRowSink('--csv', '/dev/full');
    sink.write('1\n');
    sink.write('2\n');
    assert.match((await sink.end()) ?? '', /^--csv \/dev\/full: ENOSPC/);
  });

  it('leaves rows out for a slow reader that then goes, and says how many', async () => {
    const path = join(temporaryDirectory(), 'fifo');
    makeFifo(path, 0o600);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const sink = openRowSink('--jsonl', path);
    const row = `${'x'.repeat(99_999)}\n`;
    for (let count = 0; count < 100; count++) sink.write(row);
    await until(() => hasBytes(reader), 'the first rows');
    closeSync(reader);
    assert.match((await sink.end()) ?? '', /too slow; \d+ rows were left out/);
  });

  it('refuses a program, and a path that cannot exist', () => {
    const path = join(temporaryDirectory(), 'simulate');
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, 0o755);
    assert.throws(() => openRowSink('--csv', path), /that is a program/);
    assert.equal(readFileSync(path, 'utf8'), '#!/bin/sh\n');
    assert.throws(() => openRowSink('--csv', `${path}/none`), /ENOTDIR.*give another file/);
  });
});
