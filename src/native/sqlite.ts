import type Sqlite from 'better-sqlite3';

/**
 * better-sqlite3 in the version that fits the running Node. 12 is compiled against Node's own headers, and compiled
 * against those of 24.19 and later it aborts in a garbage collection (nodejs/node#65446); 13 speaks Node-API 10, which
 * Node has from 22.14 on and 20 never will (there it crashes).
 */
const NODE_API_OF_13 = 10;

export const SQLITE_PACKAGE = packageFor(Number(process.versions.napi));

function packageFor(nodeApi: number): 'better-sqlite3' | 'better-sqlite3-13' {
  if (nodeApi < NODE_API_OF_13) return 'better-sqlite3';
  try {
    require.resolve('better-sqlite3-13');
    return 'better-sqlite3-13';
  } catch {
    // An installation without optional packages: the compiled one serves every Node before 24.19.
    return 'better-sqlite3';
  }
}

const loaded = (
  SQLITE_PACKAGE === 'better-sqlite3' ? require('better-sqlite3') : require('better-sqlite3-13')
) as typeof Sqlite;

export const SqliteDatabase = loaded;
export const { SqliteError } = loaded;
