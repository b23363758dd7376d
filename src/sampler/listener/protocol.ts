import { jsonIn } from '../../base/json-in';
import { check, constant, isObject, list, number, object, string, type Shape, type ValueOf } from '../../base/shape';
import { MIB } from '../../base/units';
import type { OomKill } from '../../sources/events/oom-kills';
import type { Reading } from '../../sources/source';
import { EXIT_FIELDS, type ExitAccount } from './exit-account';
import type { NodeCharges } from './node-charges';
import type { ProcessEvent } from './process-table';

/**
 * How samplers and the node's listener talk: lines of JSON over RUN_DIR/listener/socket (root's alone).
 *
 * A sampler names the processes whose descendants it follows, and asks now and then for all events so far ("sync"): the
 * answer comes after the last event that the kernel had sent when it was asked. The listener remembers the last minute,
 * so that a sampler that starts after its job still gets the job's first fork.
 */
const REQUESTS = {
  follow: object({ kind: constant('follow'), pids: list(number()) }),
  sync: object({ kind: constant('sync'), id: number() }),
  /** Reads these processes once, by a source that may block. */
  read: object({ kind: constant('read'), id: number(), source: string, pids: list(number()) }),
  /** Reads the node's figures that jobs are charged by, now. */
  node: object({ kind: constant('node'), id: number() }),
  /** Asks the listener to make way for the next one, and to end when its last sampler has gone. */
  retire: object({ kind: constant('retire') }),
};
export type Request = ValueOf<(typeof REQUESTS)[keyof typeof REQUESTS]>;

export type Reply =
  /** Why there are no events, or no exit records; null: there are. stays: the listener ends only when asked to. */
  | { readonly kind: 'hello'; readonly events: string | null; readonly records: string | null; readonly stays: boolean }
  | ProcessEvent
  | { readonly kind: 'lost'; readonly what: 'events' | 'records' }
  /** `maker` may have made a process whose parent is none of the job's (orphans.ts). */
  | { readonly kind: 'stray'; readonly maker: number }
  | { readonly kind: 'synced'; readonly id: number }
  | {
      readonly kind: 'values';
      readonly id: number;
      readonly readings: readonly Reading[];
      readonly unavailable: string | null;
    }
  /** id: the request that this answers; null: sent unasked. */
  | {
      readonly kind: 'node';
      readonly id: number | null;
      readonly charges: NodeCharges | null;
      /** Readings of the GPUs, with all processes on them. */
      readonly gpu: readonly Reading[];
    };

export type NodeReply = Extract<Reply, { kind: 'node' }>;

/** A reply as one line of JSON. Events come by the thousand: they are arrays, other replies objects. */
export function encodeReply(reply: Reply): string {
  if (reply.kind === 'fork') return `["f",${reply.at},${reply.parent},${reply.child},${reply.thread}]\n`;
  if (reply.kind === 'exec') return `["x",${reply.at},${reply.pid}]\n`;
  if (reply.kind !== 'exit') return `${JSON.stringify(reply)}\n`;
  const { account, oomKill } = reply;
  const head = `"e",${reply.at},${reply.pid},${JSON.stringify(oomKill)}`;
  if (account === null) return `[${head}]\n`;
  const numbers = EXIT_FIELDS.map((field) => account[field]).join(',');
  const flags = (account.final ? 1 : 0) + (account.whole ? 2 : 0);
  return `[${head},${account.uid},${flags},${JSON.stringify(account.command)},${numbers}]\n`;
}

const isOomKill = (value: unknown): value is OomKill => value === 'cgroup' || value === 'node';
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const numberOr0 = (value: unknown): number => (isNumber(value) ? value : 0);

/** A reply from one line; null: not one (of a newer version, or torn). */
export function decodeReply(line: string): Reply | null {
  const data = jsonIn(line);
  if (!Array.isArray(data)) return decodeObject(data);
  const [kind, at, pid, ...rest] = data as readonly unknown[];
  if (!isNumber(at) || !isNumber(pid)) return null;
  if (kind === 'x') return { kind: 'exec', at, pid };
  if (kind === 'e') {
    const [oomKill, ...account] = rest;
    return { kind: 'exit', at, pid, account: decodeAccount(account), oomKill: isOomKill(oomKill) ? oomKill : null };
  }
  const [child, thread] = rest;
  return kind === 'f' && isNumber(child) && isNumber(thread) ? { kind: 'fork', at, parent: pid, child, thread } : null;
}

const isTextOrNull = (value: unknown): boolean => value === null || typeof value === 'string';

/** Checks the shape only, not what arrays hold: mostly both ends are of one version. */
function decodeObject(data: unknown): Reply | null {
  if (typeof data !== 'object' || data === null) return null;
  const { kind, id, events, records, stays, what, maker, readings, unavailable, charges, gpu } = data as Readonly<
    Record<string, unknown>
  >;
  const isSound =
    (kind === 'hello' && isTextOrNull(events) && isTextOrNull(records) && typeof stays === 'boolean') ||
    (kind === 'lost' && (what === 'events' || what === 'records')) ||
    (kind === 'stray' && isNumber(maker)) ||
    (kind === 'synced' && isNumber(id)) ||
    (kind === 'values' && isNumber(id) && Array.isArray(readings) && isTextOrNull(unavailable)) ||
    (kind === 'node' && (id === null || isNumber(id)) && typeof charges === 'object' && Array.isArray(gpu));
  return isSound ? (data as Reply) : null;
}

function decodeAccount(values: readonly unknown[]): ExitAccount | null {
  if (values.length < 3) return null;
  const [uid, flags, command, ...numbers] = values;
  return {
    ...(Object.fromEntries(EXIT_FIELDS.map((field, index) => [field, numberOr0(numbers[index])])) as Record<
      (typeof EXIT_FIELDS)[number],
      number
    >),
    uid: numberOr0(uid),
    command: typeof command === 'string' ? command : '',
    final: (numberOr0(flags) & 1) !== 0,
    whole: (numberOr0(flags) & 2) !== 0,
  };
}

const KINDS: ReadonlyMap<unknown, Shape<Request>> = new Map<unknown, Shape<Request>>(Object.entries(REQUESTS));

/** A request from one line; null: not one. */
export function decodeRequest(line: string): Request | null {
  const data = jsonIn(line);
  const shape = isObject(data) && KINDS.get(data.kind);
  const read = shape && check(shape, data, 'the request');
  return read && read.ok ? read.value : null;
}

/** Splits a stream into lines; what follows the last line feed waits for the rest. */
export function lineSplitter(take: (line: string) => void, mostBytes = 64 * MIB): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > mostBytes) rest = '';
    for (const line of lines) if (line !== '') take(line);
  };
}
