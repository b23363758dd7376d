import type { Database, Statement } from 'better-sqlite3';

/** How a row is returned: as an object, an array of its values, or its first value. */
type Form = 'object' | 'raw' | 'pluck';

const MOST = 200;
const kept = new WeakMap<Database, Map<string, Statement>>();

/**
 * A statement of this database, prepared once: planning costs more than a short answer. Use it for `all`, `get` and
 * loops without `await`: a statement can run only once at a time.
 */
export function prepared<P extends unknown[] | object, Row>(
  db: Database,
  sql: string,
  form: Form = 'object',
): Statement<P extends unknown[] ? P : [P], Row> {
  let statements = kept.get(db);
  // Filters can make any number of different statements.
  if (statements === undefined || statements.size >= MOST) {
    statements = new Map<string, Statement>();
    kept.set(db, statements);
  }
  const name = `${form} ${sql}`;
  let statement = statements.get(name);
  if (statement === undefined) {
    statement = db.prepare(sql);
    if (form === 'raw') statement.raw();
    if (form === 'pluck') statement.pluck();
    statements.set(name, statement);
  }
  return statement as Statement<P extends unknown[] ? P : [P], Row>;
}
