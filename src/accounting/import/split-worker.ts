import { parentPort, workerData } from 'node:worker_threads';
import { lineSplitter, type FilePlace, type LineBatch } from './split-lines';

/** The thread of split-aside.ts: takes pieces of a file, then null, and answers each with the batches it completes. */

export interface SplitterData {
  readonly begin: FilePlace;
  readonly most: number;
}

export type Split = readonly LineBatch[];

const { begin, most } = workerData as SplitterData;
const splitter = lineSplitter(begin, most);

parentPort?.on('message', (piece: Uint8Array | null) => {
  const batches: Split =
    piece === null
      ? splitter.rest()
      : splitter.add(Buffer.from(piece.buffer as ArrayBuffer, piece.byteOffset, piece.byteLength));
  const memory = batches.flatMap(({ packed }) => [packed.numbers.buffer, packed.texts.buffer]);
  parentPort?.postMessage(batches, memory);
});
