/**
 * `node store-probe.js PATH|URL [CREDENTIALS [CLUSTER FILE]]`, run as the user who delivers: what that user can do with
 * the accounting DB, as one line of JSON. A process of its own, because root must not open the file.
 */
import { accessSync, constants, statSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf } from '../../base/user-error';
import type { Imports } from '../../accounting/history-store';
import { refusalOf } from '../../accounting/import/file-begin';
import { networkFilesystem } from '../../accounting/network-filesystem';
import { StoreError } from '../../accounting/store-error';
import { isPostgresUrl } from '../../record/postgres-url';
import type { StoreProbe } from './store-answer';

const [path = '', credentials = '', cluster = '', file] = process.argv.slice(2);

async function imported({ at, files }: Imports): Promise<StoreProbe['imported']> {
  return { at, refused: file === undefined ? null : await refusalOf(file, files, cluster).catch(() => null) };
}

const USABLE = { problem: null, fix: null } as const;

/** `fix`: where the error itself names none. */
function unusable(error: unknown, fix: string | null): Pick<StoreProbe, 'problem' | 'fix'> {
  return error instanceof StoreError ? { problem: error.reason, fix: error.hint } : { problem: reasonOf(error), fix };
}

/** Checks by an empty delivery whether the user can deliver to a PostgreSQL database. */
async function probePostgres(): Promise<StoreProbe> {
  const state = { exists: true, damage: null, network: null, wal: false, inbox: null, imported: null, size: null };
  try {
    const { openPostgresStore } = await import('../../accounting/postgres/postgres-store.js');
    const store = openPostgresStore(path, { credentials });
    await store.tryDelivery();
    const [inbox, imports] = [await store.inboxState(), await store.imports()];
    await store.close();
    return { ...state, ...USABLE, inbox, imported: imports && (await imported(imports)) };
  } catch (error) {
    return { ...state, ...unusable(error, "see the server's log") };
  }
}

async function probe(): Promise<StoreProbe> {
  if (isPostgresUrl(path)) return probePostgres();
  const directory = dirname(path);
  let exists = false;
  let network: string | null = null;
  const nothing = { damage: null, wal: false, inbox: null, imported: null, size: null };
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
      throw new StoreError(path, 'it is a directory', 'name a file in it', false);
    accessSync(directory, constants.W_OK | constants.X_OK);
    // The deliverer's own check, with the same error texts.
    const { isSafeFile, isWal } = await import('../../accounting/sqlite/database/open.js');
    exists = isSafeFile(path);
    network = networkFilesystem(exists ? path : directory);
    if (!exists) return { exists, ...USABLE, network, ...nothing };
    accessSync(path, constants.R_OK | constants.W_OK);
    const { sqliteDamage } = await import('../../accounting/sqlite/damage.js');
    const damage = sqliteDamage(path);
    if (damage !== null) return { exists, ...USABLE, network, ...nothing, damage };
    const { sqliteGrowth } = await import('../../accounting/sqlite/growth.js');
    const { importsInto } = await import('../../accounting/sqlite/import/imported-files.js');
    const { bavail, bsize } = statfsSync(path);
    const size = { ...sqliteGrowth(path, Date.now()), free: bavail * bsize };
    const known = await imported(importsInto(path));
    return { exists, ...USABLE, damage, network, wal: isWal(path), inbox: null, imported: known, size };
  } catch (error) {
    return { exists, ...unusable(error, null), network, ...nothing };
  }
}

void probe().then((result) => process.stdout.write(`${JSON.stringify(result)}\n`));
