import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** A file is recognised by at most this many of its first bytes, uncompressed: some fifteen lines. */
export const HEAD_BYTES = 4096;
const CHUNK_BYTES = 1 << 20;
const PACKED_BYTES = 1 << 18;
/** First bytes (as Latin-1) of files that are compressed otherwise, and the program that unpacks them. */
const UNPACKERS: readonly (readonly [RegExp, string])[] = [
  [/^\xfd7zXZ/, 'xz'],
  [/^BZh[1-9]/, 'bzip2'],
  [/^\x28\xb5\x2f\xfd/, 'zstd'],
];

/** An open accounting file, plain or compressed. Positions are those of its uncompressed bytes. */
export interface AccountingFile {
  readonly path: string;
  readonly device: number;
  readonly inode: number;
  readonly compressed: boolean;
  /** How many bytes on disk were read so far, and of how many, for a progress bar. */
  readonly progress: () => { readonly done: number; readonly of: number };
  /** Its length now; of a compressed file what its last bytes say, modulo 2^32. */
  readonly size: () => Promise<number>;
  /** Its first bytes as they are now, at most `most`. */
  readonly head: (most: number) => Promise<Buffer>;
  /** Its bytes from a position to its present end. A piece is valid until the next one is asked for. */
  readonly read: (from: number) => AsyncGenerator<Buffer, void>;
  readonly close: () => Promise<void>;
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

async function readAt(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/**
 * Opens a file; its first bytes, not its name, tell whether it is compressed (gzip). Rejects with the file system's
 * error, or if it is no regular file or compressed otherwise.
 */
export async function openAccountingFile(path: string): Promise<AccountingFile> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new Error('it is not a regular file');
    const magic = await readAt(handle, Buffer.alloc(6), 0);
    const unpacker = UNPACKERS.find(([begin]) => begin.test(magic.toString('latin1')))?.[1];
    if (unpacker !== undefined)
      throw new Error(`it is compressed by ${unpacker}, and only gzip can be read: unpack it ("${unpacker} -dk FILE")`);
    const compressed = magic[0] === 0x1f && magic[1] === 0x8b;
    const base = { path, device: stat.dev, inode: stat.ino, close: () => handle.close() };
    return compressed ? { ...base, ...gzipFile(handle, stat.size) } : { ...base, ...plainFile(handle) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

type Reading = Pick<AccountingFile, 'compressed' | 'progress' | 'size' | 'head' | 'read'>;

function plainFile(handle: FileHandle): Reading {
  let done = 0;
  let of = 0;
  const size = async (): Promise<number> => {
    of = (await handle.stat()).size;
    return of;
  };
  return {
    compressed: false,
    progress: () => ({ done, of: Math.max(of, done) }),
    size,
    head: (most) => readAt(handle, Buffer.alloc(most), 0),
    async *read(from) {
      const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      await size();
      for (let at = from; ; done = at) {
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
        if (bytesRead === 0) return;
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    },
  };
}

function gzipFile(handle: FileHandle, of: number): Reading {
  let done = 0;
  // `head` may read while `read` is at work, so each reading has its own position.
  async function* packed(advance: (to: number) => void): AsyncGenerator<Buffer, void> {
    for (let at = 0; ;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(PACKED_BYTES), 0, PACKED_BYTES, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      advance(at);
      yield buffer.subarray(0, bytesRead);
    }
  }
  async function* unpacked(advance: (to: number) => void): AsyncGenerator<Buffer, void> {
    const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
    const source = Readable.from(packed(advance), { objectMode: false });
    source.on('error', (error) => gunzip.destroy(error));
    source.pipe(gunzip);
    try {
      for await (const chunk of gunzip) yield chunk as Buffer;
    } finally {
      source.destroy();
      gunzip.destroy();
    }
  }
  return {
    compressed: true,
    progress: () => ({ done, of }),
    size: async () => (await readAt(handle, Buffer.alloc(4), of - 4)).readUInt32LE(0),
    async head(most) {
      const parts: Buffer[] = [];
      let length = 0;
      for await (const chunk of unpacked(() => undefined)) {
        parts.push(Buffer.from(chunk.subarray(0, most - length)));
        length += chunk.length;
        if (length >= most) break;
      }
      return Buffer.concat(parts);
    },
    async *read(from) {
      let skip = from;
      for await (const chunk of unpacked((to) => (done = to))) {
        const skipped = Math.min(skip, chunk.length);
        skip -= skipped;
        if (skipped < chunk.length) yield chunk.subarray(skipped);
      }
    },
  };
}
