import { parentPort, workerData } from 'node:worker_threads';
import { lineSplitter, type FilePlace, type LineBatch } from './split-lines';

/**
 * The thread of split-aside.ts: takes pieces of a file, then null, and answers each with the batches that it completes
 * and the piece's memory: new memory costs more than a copy.
 */

export interface SplitterData {
  readonly begin: FilePlace;
  readonly most: number;
}

export interface Split {
  readonly batches: readonly LineBatch[];
  readonly memory: ArrayBuffer | null;
}

const { begin, most } = workerData as SplitterData;
const splitter = lineSplitter(begin, most);

parentPort?.on('message', (piece: Uint8Array<ArrayBuffer> | null) => {
  const batches =
    piece === null ? splitter.rest() : splitter.add(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
  const memory = piece?.buffer ?? null;
  const moved = batches.flatMap(({ packed }) => [packed.numbers.buffer, packed.texts.buffer]);
  parentPort?.postMessage({ batches, memory } satisfies Split, memory === null ? moved : [...moved, memory]);
});
