import assert from 'node:assert/strict';
import { chmodSync, closeSync, constants, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openRowSink } from '../../../src/cli/run/row-sink';
import { makeFifo } from '../../../src/native/libc';
import { temporaryDirectory } from '../../support/temporary-directory';

/** How many there are once there are some. */
async function firstBytes(reader: number): Promise<number> {
  for (const end = Date.now() + 60_000; ;) {
    try {
      const count = readSync(reader, Buffer.alloc(1000));
      if (count > 0 || Date.now() > end) return count;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('a place for rows', () => {
  it('is a file, written anew', async () => {
    const path = join(temporaryDirectory(), 'rows');
    writeFileSync(path, 'old rows\n');
    const sink = openRowSink('--csv', path);
    for (let row = 0; row < 100; row++) sink.write(`${row}\n`);
    assert.equal(await sink.end(), null);
    assert.equal(readFileSync(path, 'utf8'), Array.from({ length: 100 }, (_, row) => `${row}\n`).join(''));
  });

  it('may be full', async () => {
    const sink = openRowSink('--csv', '/dev/full');
    sink.write('1\n');
    sink.write('2\n');
    assert.match((await sink.end()) ?? '', /^--csv \/dev\/full: ENOSPC/);
  });

  it('may be slow: the rest is left out; and may go', async () => {
    const path = join(temporaryDirectory(), 'fifo');
    makeFifo(path, 0o600);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const sink = openRowSink('--jsonl', path);
    const row = `${'x'.repeat(99_999)}\n`;
    for (let count = 0; count < 100; count++) sink.write(row);
    assert.ok((await firstBytes(reader)) > 0);
    closeSync(reader);
    assert.match((await sink.end()) ?? '', /too slow; \d+ rows were left out/);
  });

  it('is no program, and no place that is not there', () => {
    const path = join(temporaryDirectory(), 'simulate');
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, 0o755);
    assert.throws(() => openRowSink('--csv', path), /that is a program/);
    assert.equal(readFileSync(path, 'utf8'), '#!/bin/sh\n');
    assert.throws(() => openRowSink('--csv', `${path}/none`), /ENOTDIR.*give another file/);
  });
});
