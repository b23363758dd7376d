import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../base/error-code';
import { packageRoot } from '../../base/package-root';
import { listMigrations, refuseNewer } from '../migrations';
import { StoreError } from '../store-error';
import type { Connection, Transaction } from './connect';
import { isNotAllowed } from './faults';

const DIRECTORY = join('sql', 'accounting', 'postgres');
/** A second upgrade waits for this lock, and then finds the work done. Not an advisory lock: any role could hold that. */
const LOCK = 'LOCK TABLE qmemacct.schema_version IN SHARE ROW EXCLUSIVE MODE';
/** Errors of all but the first, once that has committed, who make the same roles, schema or tables at once. */
const MADE_MEANWHILE = /^(?:23505|42710|42P06|42P07)$/;
const MOST_TRIES = 5;

function textOf(path: string): string {
  return readFileSync(path, 'utf8');
}

/** The version of the schema; null: there is none. */
export async function schemaVersion(db: Pick<Connection, 'query'>): Promise<number | null> {
  const [there] = await db.query<{ there: boolean }>(
    "SELECT to_regclass('qmemacct.schema_version') IS NOT NULL AS there",
  );
  if (!there?.there) return null;
  const [row] = await db.query<{ version: number | null }>(
    'SELECT max(version) AS version FROM qmemacct.schema_version',
  );
  return row?.version ?? null;
}

/** Rejects unless the encoding can hold every job name: a record with another name would be refused for good. */
async function refuseEncoding(db: Pick<Connection, 'rows'>, where: string): Promise<void> {
  const [row] = await db.rows<[string]>('SHOW server_encoding');
  const encoding = row?.[0] ?? '';
  if (encoding === 'UTF8') return;
  const hint = 'make the database anew: createdb -E UTF8 -T template0 DATABASE';
  throw new StoreError(where, `its encoding is ${encoding}, which can't hold every job's name`, hint, false);
}

/** Replaces the hint for missing rights: an admin needs other rights than the roles that log in later. */
function adminsFault(error: unknown): unknown {
  if (!(error instanceof StoreError) || !isNotAllowed(error)) return error;
  const hint =
    'come as the owner of the database with CREATEROLE (where the roles are there already: as a member of qmemacct_owner)';
  return new StoreError(error.path, error.reason, hint, false, error);
}

/** The versions of a schema before and after. */
interface SchemaChange {
  readonly before: number;
  readonly after: number;
}

/** Makes or upgrades the schema, in a transaction. */
async function upgrade(inner: Transaction, where: string): Promise<SchemaChange> {
  const directory = join(packageRoot(), DIRECTORY);
  const migrations = listMigrations(directory);
  await refuseEncoding(inner, where);
  if ((await schemaVersion(inner)) !== null) await inner.query(LOCK);
  const before = (await schemaVersion(inner)) ?? 0;
  refuseNewer(where, before, migrations.length);
  if (before === migrations.length) return { before, after: before };
  await inner.query(textOf(join(directory, 'roles.sql')));
  for (const { version, path } of migrations.slice(before)) {
    await inner.query(textOf(path));
    await inner.query('INSERT INTO qmemacct.schema_version (version) VALUES ($1)', [version]);
  }
  return { before, after: migrations.length };
}

/**
 * Makes the roles and brings the schema to the newest version, forward only, in one transaction. Needs an admin's role,
 * not the hooks'. Resolves to the versions before and after. Rejects with StoreError.
 */
export async function initDatabase(db: Connection): Promise<SchemaChange> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction((inner) => upgrade(inner, db.text));
    } catch (error) {
      const code = codeOf(error instanceof StoreError ? error.cause : error);
      if (tries === MOST_TRIES || !MADE_MEANWHILE.test(code)) throw adminsFault(error);
    }
  }
}
