import type { Database } from 'better-sqlite3';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../base/package-root';
import { StoreError } from './store-error';

/** One numbered file of SQL: `NNN-what.sql` brings a schema of version NNN - 1 to NNN. */
interface Migration {
  readonly version: number;
  readonly path: string;
}

/** The migrations of `sql/accounting/sqlite`, in order. Throws where a number is missing or given twice. */
export function listMigrations(directory = join(packageRoot(), 'sql', 'accounting', 'sqlite')): readonly Migration[] {
  const migrations = readdirSync(directory)
    .filter((file) => /^\d{3}-.*\.sql$/.test(file))
    .sort()
    .map((file) => ({ version: Number(file.slice(0, 3)), path: join(directory, file) }));
  if (migrations.length === 0 || migrations.some(({ version }, index) => version !== index + 1))
    throw new StoreError(directory, 'its numbered files are not 001, 002, ...', 'install qmemacct again', false);
  return migrations;
}

export function schemaVersion(db: Database): number {
  return db.pragma('user_version', { simple: true }) as number;
}

/** Throws StoreError if the schema of the store `name` is newer than the newest that this program knows. */
export function refuseNewer(name: string, version: number, newest: number): void {
  if (version > newest)
    throw new StoreError(
      name,
      `it has schema ${version}, this qmemacct knows up to ${newest}`,
      'upgrade qmemacct on this host',
      false,
    );
}

/** Throws StoreError unless the schema is exactly the newest one. */
export function requireNewestSchema(db: Database, migrations = listMigrations()): void {
  const version = schemaVersion(db);
  refuseNewer(db.name, version, migrations.length);
  if (version < migrations.length)
    throw new StoreError(
      db.name,
      `it has schema ${version}, this qmemacct needs ${migrations.length}`,
      'the next delivery of a job upgrades it',
      true,
    );
}

/**
 * Brings the schema to the newest version, forward only, in one transaction. Safe for many processes at once: one that
 * waited for the lock finds the work done.
 */
export function migrate(db: Database, migrations = listMigrations()): void {
  refuseNewer(db.name, schemaVersion(db), migrations.length);
  if (schemaVersion(db) === migrations.length) return;
  db.transaction(() => {
    refuseNewer(db.name, schemaVersion(db), migrations.length);
    for (const { version, path } of migrations.slice(schemaVersion(db))) {
      db.exec(readFileSync(path, 'utf8'));
      db.pragma(`user_version = ${version}`);
    }
  }).immediate();
}
