import type { Database } from 'better-sqlite3';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { monotonicMs } from '../../base/monotonic';
import { packageRoot } from '../../base/package-root';
import { SqliteDatabase, SqliteError } from '../../native/sqlite';

const WAL_PAUSE_MS = 10;

/**
 * A new file can't be switched to WAL while another process reads it, and SQLite then answers "locked" at once,
 * without waiting for its busy timeout (two processes that both want to switch would wait for each other).
 */
function switchToWal(database: Database, busyMs: number): void {
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  for (const deadline = monotonicMs() + busyMs; ; Atomics.wait(nobody, 0, 0, WAL_PAUSE_MS * Math.random()))
    try {
      database.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      const locked = error instanceof SqliteError && error.code.startsWith('SQLITE_BUSY');
      if (!locked || monotonicMs() > deadline) throw error;
    }
}

function migrate(database: Database, directory: string): void {
  const files = readdirSync(directory)
    .filter((name) => /^\d{3}-.*\.sql$/.test(name))
    .sort();
  const version = (): number => database.pragma('user_version', { simple: true }) as number;
  if (version() === files.length) return;
  if (version() > files.length)
    throw new Error(`schema ${version()} is newer than this version's ${files.length}; install the newer qmemacct`);
  database
    .transaction(() => {
      // Another sampler may have migrated while this one waited for the lock.
      for (const [index, name] of files.entries())
        if (version() === index) {
          database.exec(readFileSync(join(directory, name), 'utf8'));
          database.pragma(`user_version = ${index + 1}`);
        }
    })
    .immediate();
}

/** Opens (and creates, 0600) `STATE/node.db` with today's schema. Throws when it can't be written. */
export function openDatabase(stateDirectory: string, busyMs: number): Database {
  const umask = process.umask(0o077);
  const database = new SqliteDatabase(join(stateDirectory, 'node.db'), { timeout: busyMs });
  process.umask(umask);
  try {
    // Takes effect only in a file that holds nothing yet.
    database.pragma('auto_vacuum = INCREMENTAL');
    switchToWal(database, busyMs);
    database.pragma('synchronous = NORMAL');
    database.pragma('foreign_keys = ON');
    database.pragma('trusted_schema = OFF');
    database.pragma('cache_size = -512');
    migrate(database, join(packageRoot(), 'sql', 'node'));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
