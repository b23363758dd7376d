/**
 * `node store-probe.js PATH`, run as the user who delivers: what that user can do with the accounting DB, as one line of
 * JSON. A process of its own, because root must not open the file.
 */
import { accessSync, constants, existsSync, openSync, readSync, closeSync } from 'node:fs';
import { dirname } from 'node:path';
import { networkFilesystem } from '../../accounting/network-filesystem';
import { openSqliteReader } from '../../accounting/sqlite/sqlite-store';

export interface StoreProbe {
  readonly exists: boolean;
  /** Why it can't be opened or written; null: it can. */
  readonly problem: string | null;
  /** Type of the network file system that holds it; null: local. */
  readonly network: string | null;
  /** Its journal is a write-ahead log, which needs memory that all its users share. */
  readonly wal: boolean;
}

const WAL_FORMAT = 2;

function isWal(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(20);
    // Byte 18 of an SQLite file (file format, section 1.3).
    return readSync(file, header, 0, header.length, 0) === header.length && header[18] === WAL_FORMAT;
  } finally {
    closeSync(file);
  }
}

async function probe(path: string): Promise<StoreProbe> {
  const directory = dirname(path);
  let exists = false;
  let network: string | null = null;
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    exists = existsSync(path);
    network = networkFilesystem(exists ? path : directory);
    if (!exists) return { exists, problem: null, network, wal: false };
    accessSync(path, constants.R_OK | constants.W_OK);
    await openSqliteReader(path).close();
    return { exists, problem: null, network, wal: isWal(path) };
  } catch (error) {
    return { exists, problem: error instanceof Error ? error.message : String(error), network, wal: false };
  }
}

if (require.main === module)
  void probe(process.argv[2] ?? '').then((result) => process.stdout.write(`${JSON.stringify(result)}\n`));
