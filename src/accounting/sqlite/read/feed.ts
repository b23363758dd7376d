import type { Cell } from '../../cell-codec';
import type { NumberedRecord, RecordFeed } from '../../record-feed';
import { fromRow } from '../../row';
import { createWords } from '../database/dictionary';
import { openForReading } from '../database/open';
import { asPromise } from '../database/faults';
import { IDENTITY, NEWEST, NEXT_RECORDS, RECORDS_OF, STATES_OF } from './queries';

/** The SQLite store at `path` as a feed. Throws StoreError. */
export function openSqliteFeed(path: string): RecordFeed {
  const db = openForReading(path);
  const words = createWords(db);
  const recordOf = (row: readonly Cell[]): NumberedRecord => ({
    id: Number(row[0]),
    record: fromRow(row, 1, words).record,
  });
  return {
    identity: () => asPromise(db, () => db.prepare<[], string>(IDENTITY).pluck().get() ?? ''),
    newest: () => asPromise(db, () => db.prepare<[], number>(NEWEST).pluck().get() ?? 0),
    after: (id, most) =>
      asPromise(db, () =>
        db.prepare<[number, number], readonly Cell[]>(NEXT_RECORDS).raw().all(id, most).map(recordOf),
      ),
    ended: (ids) =>
      asPromise(db, () =>
        db.transaction(() => {
          const states = new Map(db.prepare<[string], [number, number]>(STATES_OF).raw().all(JSON.stringify(ids)));
          const isRunning = (id: number): boolean => states.get(id) === 1;
          const ended = JSON.stringify([...states.keys()].filter((id) => !isRunning(id)));
          return {
            records: db.prepare<[string], readonly Cell[]>(RECORDS_OF).raw().all(ended).map(recordOf),
            gone: ids.filter((id) => !states.has(id)),
          };
        })(),
      ),
    close: () => asPromise(db, () => void db.close()),
  };
}
