/**
 * `node store-probe.js PATH|URL [CREDENTIALS]`, run as the user who delivers: what that user can do with the accounting DB, as one line of
 * JSON. A process of its own, because root must not open the file.
 */
import { accessSync, constants, openSync, readSync, closeSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { networkFilesystem } from '../../accounting/network-filesystem';
import { isPostgresUrl } from '../../record/postgres-url';
import type { StoreProbe } from './store-answer';

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

/** Whether that user can deliver to a PostgreSQL database: nothing, for a try. */
async function probePostgres(url: string, credentials: string): Promise<StoreProbe> {
  const state = { exists: true, damage: null, network: null, wal: false, inbox: null, imported: null, size: null };
  try {
    const { openPostgresStore } = await import('../../accounting/postgres/postgres-store.js');
    const store = openPostgresStore(url, { credentials });
    await store.tryDelivery();
    const [inbox, imported] = [await store.inboxState(), await store.lastImport()];
    await store.close();
    return { ...state, problem: null, inbox, imported };
  } catch (error) {
    return { ...state, problem: error instanceof Error ? error.message : String(error) };
  }
}

async function probe(path: string, credentials: string): Promise<StoreProbe> {
  if (isPostgresUrl(path)) return probePostgres(path, credentials);
  const directory = dirname(path);
  let exists = false;
  let network: string | null = null;
  const nothing = { damage: null, wal: false, inbox: null, imported: null, size: null };
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    // As the deliverer does, which says the same words.
    const { isSafeFile } = await import('../../accounting/sqlite/database/open.js');
    exists = isSafeFile(path);
    network = networkFilesystem(exists ? path : directory);
    if (!exists) return { exists, problem: null, network, ...nothing };
    accessSync(path, constants.R_OK | constants.W_OK);
    const { sqliteDamage } = await import('../../accounting/sqlite/damage.js');
    const damage = sqliteDamage(path);
    if (damage !== null) return { exists, problem: null, network, ...nothing, damage };
    const { sqliteGrowth } = await import('../../accounting/sqlite/growth.js');
    const { lastImport } = await import('../../accounting/sqlite/import/imported-files.js');
    const { bavail, bsize } = statfsSync(path);
    const size = { ...sqliteGrowth(path, Date.now()), free: bavail * bsize };
    const imported = lastImport(path);
    return { exists, problem: null, damage, network, wal: isWal(path), inbox: null, imported, size };
  } catch (error) {
    return { exists, problem: error instanceof Error ? error.message : String(error), network, ...nothing };
  }
}

void probe(process.argv[2] ?? '', process.argv[3] ?? '').then((result) =>
  process.stdout.write(`${JSON.stringify(result)}\n`),
);
