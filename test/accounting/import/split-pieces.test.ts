import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import fc from 'fast-check';
import { beginOfFile } from '../../../src/accounting/import/line-place';
import { linesOf } from '../../../src/accounting/import/line-table';
import { splitAside } from '../../../src/accounting/import/split-aside';
import type { FilePlace, LineBatch } from '../../../src/accounting/import/split-lines';
import { splitHere, splitPieces } from '../../../src/accounting/import/split-pieces';
import { temporaryStore } from '../temporary-store';
import { failedLine, sampleLine } from './sample-lines';
import { anyCharacter } from '../../support/any-character';

const TAIL = Buffer.alloc(4096, 'before');
const BEGIN: FilePlace = { ...beginOfFile('0123456789'), offset: 4711, tail: TAIL };

/** The pieces of a file as they are read, each into the same memory. */
async function* piecesOf(bytes: Buffer, size: number, end?: Error): AsyncGenerator<Buffer, void> {
  const memory = Buffer.alloc(size);
  for (let at = 0; at < bytes.length; at += size) {
    memory.fill(0);
    yield await Promise.resolve(memory.subarray(0, bytes.copy(memory, 0, at, at + size)));
  }
  if (end !== undefined) throw end;
}

async function batchesOf(batches: AsyncIterable<LineBatch>): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for await (const { packed, ...rest } of batches) all.push({ ...rest, lines: [...linesOf(packed)] });
  return all;
}

const text = fc
  .array(
    fc.oneof(
      { weight: 5, arbitrary: fc.nat({ max: 99 }).map((job) => sampleLine(job)) },
      { weight: 2, arbitrary: fc.nat({ max: 9 }).map(failedLine) },
      fc.constantFrom('# Version\n', '\n', 'a:b\n', '\0\0\n', 'cut off'),
      fc.string({ unit: anyCharacter, maxLength: 20 }),
    ),
    { maxLength: 40 },
  )
  .map((lines) => Buffer.from(lines.join('')));

it('the same batches are found in a separate thread', async () => {
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.integer({ min: 1, max: 9000 }),
      fc.integer({ min: 1, max: 12 }),
      async (bytes, size, most) => {
        const here = await batchesOf(splitHere(piecesOf(bytes, size), BEGIN, most));
        assert.deepEqual(await batchesOf(splitAside(piecesOf(bytes, size), BEGIN, most)), here);
        assert.deepEqual(await batchesOf(splitPieces(piecesOf(bytes, size), BEGIN, most, 2 ** 30)), here);
      },
    ),
    { numRuns: 12 },
  );
});

it('lines before a read error are given, then the error', async () => {
  const bytes = Buffer.from([1, 2, 3].map((job) => sampleLine(job)).join(''));
  for (const split of [splitHere, splitAside]) {
    const counts: number[] = [];
    await assert.rejects(async () => {
      for await (const { count } of split(piecesOf(bytes, 100, new Error('torn')), BEGIN, 2)) counts.push(count);
    }, /torn/);
    assert.deepEqual(counts, [2, 1]);
  }
});

it('the file is closed when its reader stops early', async () => {
  for (const split of [splitHere, splitAside]) {
    let closed = false;
    let read = 0;
    const endless = async function* (): AsyncGenerator<Buffer, void> {
      try {
        for (;;) {
          read++;
          yield await Promise.resolve(Buffer.from(sampleLine(1)));
        }
      } finally {
        closed = true;
      }
    };
    for await (const { count } of split(endless(), BEGIN, 10)) {
      assert.equal(count, 10);
      break;
    }
    assert.ok(closed);
    assert.ok(read < 100, `${read} pieces`);
  }
});

it('the death of the thread is an error', async () => {
  const program = join(temporaryStore(), '..', 'dying.js');
  writeFileSync(program, "require('node:worker_threads').parentPort.on('message', () => process.exit(3));");
  await assert.rejects(
    batchesOf(splitAside(piecesOf(Buffer.from(sampleLine(1)), 10), BEGIN, 1, program)),
    /thread .* ended/,
  );
  writeFileSync(program, "require('node:worker_threads').parentPort.on('message', () => { throw new Error('no'); });");
  await assert.rejects(batchesOf(splitAside(piecesOf(Buffer.from(sampleLine(1)), 10), BEGIN, 1, program)), /no/);
});
