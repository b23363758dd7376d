import type Sqlite from 'better-sqlite3';
import { UserError } from '../base/user-error';

/**
 * better-sqlite3 12 is compiled against Node's own headers; compiled against those of 24.19 and later it aborts in a
 * garbage collection (nodejs/node#65446). Version 13 uses Node-API and does not abort, but a write takes 1.5 times as
 * long.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const NEEDS_13 = major > 24 || (major === 24 && minor >= 19);

export const SQLITE_PACKAGE = NEEDS_13 && has13() ? 'better-sqlite3-13' : 'better-sqlite3';

/** An installation without optional packages, or by another Node, lacks it. */
function has13(): boolean {
  try {
    require.resolve('better-sqlite3-13');
    return true;
  } catch {
    return false;
  }
}

/** The installed better-sqlite3 can't be used by this Node, or on this host. */
export class UnusableSqlite extends UserError {
  constructor(
    readonly reason: string,
    hint: string,
    cause?: unknown,
  ) {
    super(reason, { hint, cause });
  }
}

function forAnotherNode(cause?: unknown): UnusableSqlite {
  const reason = `better-sqlite3 was installed for another Node than this ${process.version}`;
  const hint = 'run qmemacct with the Node that it was installed with, or install it again with this one ("npm ci")';
  return new UnusableSqlite(reason, hint, cause);
}

/** Replaces Node's six lines about a compiled part that it can't load; other errors stay as they are. */
function loadError(error: unknown): unknown {
  const { code, message = '' } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  if (message.includes('compiled against a different Node')) return forAnotherNode(error);
  const isMissing = message.startsWith('Could not locate the bindings file');
  if (code !== 'ERR_DLOPEN_FAILED' && !isMissing) return error;
  const reason = isMissing ? "better-sqlite3's compiled part is missing" : (message.split('\n')[0] ?? '');
  return new UnusableSqlite(reason, 'install qmemacct again on this host ("npm ci")', error);
}

const loaded = (
  SQLITE_PACKAGE === 'better-sqlite3' ? require('better-sqlite3') : require('better-sqlite3-13')
) as typeof Sqlite;

/** A connection. Throws UnusableSqlite if the compiled part can't be loaded. */
export class SqliteDatabase extends loaded {
  constructor(path: string, options: Sqlite.Options = {}) {
    if (NEEDS_13 && SQLITE_PACKAGE === 'better-sqlite3') throw forAnotherNode();
    try {
      super(path, options);
    } catch (error) {
      throw loadError(error);
    }
  }
}

export const { SqliteError } = loaded;
