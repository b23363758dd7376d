import { Worker } from 'node:worker_threads';
import type { RecordTables, TablePage } from '../accounting/store';
import { programPath } from '../base/programs';
import type { PlainColumn } from '../record/plain-columns';
import { leastPart, type FormatName } from './format';
import type { PartRequest, PartsOf } from './part-worker';
import type { Part } from './table';

/** Threads that read the store and encode rows; the main thread only joins their parts. */
const THREADS = 2;
/** Parts that are asked of a thread at once, so that it has work while an earlier part is joined. */
const AHEAD = 2;
/** With fewer records than this, the main thread alone would be done before the threads have started. */
const FROM = 20_000;

/** Records per part: at least a page of the store; undefined: the format has no parts. */
const partSize = (format: FormatName, page: number): number | undefined => {
  const least = leastPart(format);
  return least === undefined ? undefined : Math.max(least, page);
};

type Take = (part: Part | null) => void;

/** A thread that encodes parts, in the order in which they are asked for; null: it could not. */
class PartThread {
  private readonly worker: Worker;
  private waiting: Take[] = [];
  private dead = false;
  /** Buffers of joined parts, for reuse. */
  private readonly memory: ArrayBuffer[] = [];

  constructor(workerData: PartsOf, program: string) {
    this.worker = new Worker(program, { workerData });
    this.worker.on('message', (part: Part | null) => this.waiting.shift()?.(part));
    const dies = (): void => {
      this.dead = true;
      for (const take of this.waiting.splice(0)) take(null);
    };
    this.worker.on('error', dies);
    this.worker.on('exit', dies);
  }

  part(ids: readonly number[]): Promise<Part | null> {
    if (this.dead) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      const memory = this.memory.pop();
      const request: PartRequest = memory === undefined ? { ids } : { ids, memory };
      this.worker.postMessage(request, memory === undefined ? [] : [memory]);
    });
  }

  /** To be called when a part of this thread has been joined: its buffer is reused. */
  joined({ bytes }: Part): void {
    this.memory.push(bytes.buffer);
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}

interface Asked {
  readonly ids: readonly number[];
  readonly thread: PartThread;
  readonly part: Promise<Part | null>;
}

/** The number of records per part, and from how many records on parts are used; for tests. */
export interface PartSizes {
  readonly from: number;
  readonly part?: number;
  readonly program?: string;
}

interface ReadPart {
  readonly page: TablePage | Part;
  /** How many records it holds. */
  readonly read: number;
}

/** Records as parts of a file, in the order of `ids`. What a thread failed to encode is read here, with any error. */
async function* threadParts(
  tables: RecordTables,
  ids: readonly number[],
  columns: readonly PlainColumn[],
  [format, size, program]: readonly [FormatName, number, string],
): AsyncGenerator<ReadPart> {
  const names = columns.map(({ name }) => name);
  const threads = Array.from(
    { length: THREADS },
    () =>
      new PartThread({ location: tables.location, credentials: tables.credentials, columns: names, format }, program),
  );
  const asked: Asked[] = [];
  try {
    for (let at = 0, next = 0; ; next++) {
      const thread = threads[next % THREADS];
      if (at < ids.length && thread !== undefined) {
        const some = ids.slice(at, at + size);
        at += size;
        asked.push({ ids: some, thread, part: thread.part(some) });
        if (asked.length < THREADS * AHEAD) continue;
      }
      const first = asked.shift();
      if (first === undefined) return;
      const part = await first.part;
      if (part !== null) {
        yield { page: part, read: first.ids.length };
        first.thread.joined(part);
      } else for await (const page of tables.read(first.ids, columns)) yield { page, read: page.rows };
    }
  } finally {
    await Promise.all(threads.map((thread) => thread.end()));
  }
}

/** Records of a store, in the order of `ids`: if there are many, as encoded parts of a file, else by column. */
export async function* readTables(
  tables: RecordTables,
  ids: readonly number[],
  columns: readonly PlainColumn[],
  format: FormatName,
  {
    from = FROM,
    part = partSize(format, tables.page),
    program = programPath('export/part-worker'),
  }: Partial<PartSizes> = {},
): AsyncGenerator<ReadPart> {
  if (part !== undefined && ids.length >= from) yield* threadParts(tables, ids, columns, [format, part, program]);
  else for await (const page of tables.read(ids, columns)) yield { page, read: page.rows };
}
