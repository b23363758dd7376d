import type { Database, Statement } from 'better-sqlite3';

/** How a row comes: as an object, as an array of its values, as its first value. */
type Form = 'object' | 'raw' | 'pluck';

const MOST = 200;
const kept = new WeakMap<Database, Map<string, Statement>>();

/**
 * A statement of this database, prepared once: planning costs more than a short answer. For `all`, `get` and
 * loops that nothing awaits in, which end what they begin.
 */
export function prepared<P extends unknown[] | object, Row>(
  db: Database,
  sql: string,
  form: Form = 'object',
): Statement<P extends unknown[] ? P : [P], Row> {
  let statements = kept.get(db);
  // What filters ask for has no end of forms.
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
