import { createHash, type Hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzip } from 'node:zlib';

/** The content of an answer, made once for all who ask for the same. */
export interface Body {
  readonly type: string;
  readonly bytes: Buffer;
  /** Tag of the content, whatever its encoding. */
  readonly etag: string;
  /** The same bytes packed; null where that saves nothing. */
  readonly packed: () => Promise<Buffer | null>;
}

/** Below this, packing saves no packet. */
const LEAST_PACKED_BYTES = 1400;
/** Most of the gain for a third of the time of zlib's default. */
const GZIP_LEVEL = 2;

/** ms of work on one body before the server's other work has its turn. */
const SLICE_MS = 10;

/** A body with its tag; packed when that is first asked for. */
export function makeBody(type: string, content: string | Buffer): Body {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return bodyOf(type, bytes, createHash('sha256').update(bytes));
}

/** As makeBody, from pieces; the server's other work comes between them. */
export async function makeFromPieces(type: string, pieces: Iterable<string>): Promise<Body> {
  const hash = createHash('sha256');
  const made: Buffer[] = [];
  let began = performance.now();
  for (const piece of pieces) {
    const bytes = Buffer.from(piece);
    hash.update(bytes);
    made.push(bytes);
    if (performance.now() - began < SLICE_MS) continue;
    await nextTurn();
    began = performance.now();
  }
  return bodyOf(type, Buffer.concat(made), hash);
}

function bodyOf(type: string, bytes: Buffer, hash: Hash): Body {
  const etag = `W/"${hash.digest('base64url').slice(0, 22)}"`;
  let packed: Promise<Buffer | null> | null = null;
  const pack = (): Promise<Buffer | null> =>
    bytes.length < LEAST_PACKED_BYTES
      ? Promise.resolve(null)
      : new Promise((resolve) =>
          gzip(bytes, { level: GZIP_LEVEL }, (error, result) => resolve(error === null ? result : null)),
        );
  return { type, bytes, etag, packed: () => (packed ??= pack()) };
}

export const JSON_TYPE = 'application/json';
