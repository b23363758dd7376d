import { createHash } from 'node:crypto';
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

/** A body with its tag; packed when that is first asked for. */
export function makeBody(type: string, content: string | Buffer): Body {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const etag = `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
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
