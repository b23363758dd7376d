import { codeOf } from '../../base/error-code';
import { MIB } from '../../base/units';
import { openForReading } from './database/open';

/** A file of this size is read in a few seconds from a network file system; writers wait as long. */
const MOST_BYTES = 256 * MIB;

/** What SQLite finds wrong in a file, in a line; null: nothing, or it has more than `most` bytes. Throws StoreError. */
export function sqliteDamage(path: string, most = MOST_BYTES): string | null {
  const db = openForReading(path);
  const number = (pragma: string): number => Number(db.pragma(pragma, { simple: true }));
  try {
    if (number('page_size') * number('page_count') > most) return null;
    const said = String(db.pragma('quick_check(1)', { simple: true }));
    return said === 'ok' ? null : (said.split('\n').at(-1) ?? said);
  } catch (error) {
    if (error instanceof Error && codeOf(error).startsWith('SQLITE_CORRUPT')) return error.message;
    throw error;
  } finally {
    db.close();
  }
}
