import { jsonIn } from '../../base/json-in';
import { MIB } from '../../base/units';
import { isUnavailable, type Reading, type Unavailable } from '../../sources/source';

/** What the sampler asks its helper, one JSON line each. */
export interface Request {
  readonly id: number;
  readonly source: string;
  /** For sources that are asked about processes. */
  readonly pids?: readonly number[];
}

/** What the helper says, one JSON line each: it is ready; it is about to read a process; the answer. */
export type Message =
  | { readonly kind: 'ready' }
  | { readonly kind: 'at'; readonly id: number; readonly pid: number }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: readonly Reading[] | Unavailable };

/** Most characters of one line: enough for 10 values of each of 15,000 processes. */
export const LONGEST_LINE = 16 * MIB;

export const READY_LINE = '{"ready":true}\n';

export function requestLine(request: Request): string {
  return `${JSON.stringify(request)}\n`;
}

export function atLine(id: number, pid: number): string {
  return `{"id":${id},"at":${pid}}\n`;
}

export function answerLine(id: number, answer: readonly Reading[] | Unavailable): string {
  return `${JSON.stringify(isUnavailable(answer) ? { id, ...answer } : { id, readings: answer })}\n`;
}

function parseObject(line: string): Readonly<Record<string, unknown>> | null {
  const value = jsonIn(line);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
}

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function isReading(value: unknown): value is Reading {
  if (typeof value !== 'object' || value === null) return false;
  const { metric, instance, value: number, pid } = value as Record<string, unknown>;
  return (
    typeof metric === 'string' &&
    typeof instance === 'string' &&
    Number.isFinite(number) &&
    (pid === undefined || isId(pid))
  );
}

/** The request in a line from the sampler; null: there is none. */
export function parseRequest(line: string): Request | null {
  const object = parseObject(line);
  if (object === null || !isId(object.id) || typeof object.source !== 'string') return null;
  const { id, source, pids } = object;
  if (pids === undefined) return { id, source };
  return Array.isArray(pids) && pids.every(isId) ? { id, source, pids } : null;
}

/** The message in a line from the helper; null: there is none. */
export function parseMessage(line: string): Message | null {
  const object = parseObject(line);
  if (object === null) return null;
  if (object.ready === true) return { kind: 'ready' };
  const { id, at, readings, unavailable, fix } = object;
  if (!isId(id)) return null;
  if (isId(at)) return { kind: 'at', id, pid: at };
  if (Array.isArray(readings)) return readings.every(isReading) ? { kind: 'answer', id, answer: readings } : null;
  if (typeof unavailable !== 'string' || !(fix === null || typeof fix === 'string')) return null;
  return { kind: 'answer', id, answer: { unavailable, fix } };
}
