/**
 * The process that carries records into the accounting DB, without root: the sampler starts it with the uid of
 * `deliver_as` and writes `{"id": ROW, "record": {...}}` lines to its stdin. For each line it answers
 * `{"id": ROW, "ok": true}` once the record is committed, or `{"id": ROW, "ok": false, "error": ..., "retry": ...}`,
 * where "retry": false says that the record itself is unusable. A row without an answer is to be delivered again.
 * A line `{"node": {...}}` is the host's status; it gets no answer.
 * Exit status: 0 all of stdin was answered and stored, 2 wrong call, 3 the store can't be used.
 */
import { writeSync } from 'node:fs';
import { reasonOf } from '../base/user-error';
import { delivererOptions, type DelivererOptions } from './deliverer-options';
import { lineBatches, TOO_LONG, type Line } from './line-batches';
import { withPatience } from './retry';
import { standardInput } from './standard-input';
import { openStore } from './open-store';
import { StoreError } from './store-error';
import type { AccountingStore, MergeOutcome } from './store';
import { codeOf } from '../base/error-code';
import { check } from '../base/shape';
import { nodeStatusShape, type NodeStatus } from '../record/node-status';
import { parseRecord, type JobRecord } from '../record/record';
import { jsonIn } from '../base/json-in';
import { printable } from '../base/printable';

const ROWS_PER_TRANSACTION = 500;
const LULL_MS = 5;
const EXIT = { done: 0, usage: 2, store: 3 } as const;

type RowId = number | string | null;

interface Answer {
  readonly id: RowId;
  readonly ok: boolean;
  readonly error?: string;
  readonly retry?: boolean;
}

type Row = { readonly id: RowId; readonly record: JobRecord } | { readonly node: NodeStatus } | Answer;

function unusable(id: RowId, error: string): Answer {
  return { id, ok: false, error, retry: false };
}

function parseLine(line: Line): Row {
  if (line === TOO_LONG) return unusable(null, 'the line is too long');
  const row = jsonIn(line);
  if (row === undefined) return unusable(null, 'the line is not JSON');
  if (typeof row !== 'object' || row === null) return unusable(null, 'the line has no id');
  if ('node' in row) {
    const node = check(nodeStatusShape, row.node, "the host's status");
    return node.ok ? { node: node.value } : unusable(null, node.error);
  }
  if (!('id' in row)) return unusable(null, 'the line has no id');
  const { id } = row;
  if (typeof id !== 'number' && typeof id !== 'string') return unusable(null, 'the id is not a number or string');
  const record = parseRecord('record' in row ? row.record : undefined);
  return record.ok ? { id, record: record.value } : unusable(id, record.error);
}

/** One line on stderr, whatever a path or a message holds. */
function complain(message: string): void {
  process.stderr.write(`qmemacct deliverer: ${printable(message)}\n`);
}

/** Complains of a fault once while it lasts. */
function faultLog(): (fault: StoreError) => void {
  let last = '';
  return ({ message }) => {
    if (message !== last) complain(message);
    last = message;
  };
}

function reply(answers: readonly Answer[]): void {
  const text = Buffer.from(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''));
  for (let at = 0; at < text.length;) {
    try {
      at += writeSync(1, text, at);
    } catch (error) {
      // The pipe is full, and our parent left it non-blocking.
      if (codeOf(error) !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

function answerTo(id: RowId, outcome: MergeOutcome | undefined): Answer {
  return outcome?.ok ? { id, ok: true } : unusable(id, outcome?.error ?? 'no outcome');
}

async function deliver(options: DelivererOptions): Promise<number> {
  const onFault = faultLog();
  let store: AccountingStore | null = null;
  const inStore = async <T>(work: (opened: AccountingStore) => Promise<T>): Promise<T> => {
    store ??= await openStore(options.accounting, options);
    try {
      return await work(store);
    } catch (error) {
      // Opened anew at the next try: the file may be another by then, or its handle stale.
      await store.close().catch(() => undefined);
      store = null;
      throw error;
    }
  };
  const patiently = <T>(work: (opened: AccountingStore) => Promise<T>): Promise<T> =>
    withPatience(() => inStore(work), options.patience * 1000, onFault);
  for await (const lines of lineBatches(standardInput(), ROWS_PER_TRANSACTION, LULL_MS)) {
    const rows = lines.map(parseLine);
    reply(rows.flatMap((row) => ('ok' in row ? row : [])));
    const usable = rows.flatMap((row) => ('record' in row ? row : []));
    try {
      const records = usable.map(({ record }) => record);
      const outcomes = records.length === 0 ? [] : await patiently((opened) => opened.merge(records));
      reply(usable.map(({ id }, index) => answerTo(id, outcomes[index])));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      reply(usable.map(({ id }) => ({ id, ok: false, error: error.message, retry: true })));
      return EXIT.store;
    }
    const status = rows.findLast((row) => 'node' in row);
    if (status !== undefined) await patiently((opened) => opened.saveHeartbeat(status.node));
  }
  return EXIT.done;
}

function main(argv: readonly string[]): void {
  process.umask(0o027);
  let options: DelivererOptions;
  try {
    options = delivererOptions(argv);
    if (process.geteuid?.() === 0 && !options.allowRoot)
      throw new Error('will not open a shared store as root; set deliver_as, or give --allow-root for a private one');
  } catch (error) {
    complain(reasonOf(error));
    process.exit(EXIT.usage);
  }
  deliver(options).then(
    (status) => process.exit(status),
    (error: unknown) => {
      complain(reasonOf(error));
      process.exit(EXIT.store);
    },
  );
}

main(process.argv.slice(2));
