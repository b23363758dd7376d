import type { Cell } from '../cell-codec';
import type { NumberedRecord, RecordFeed } from '../record-feed';
import { connect, type ConnectOptions } from './connect';
import { namedColumns, readRows } from './rows';
import { NUMBERS } from './record-filter';

type Row = readonly [number, ...Cell[]];

const ROWS = `SELECT r.id, ${namedColumns(false)} FROM qmemacct.named_record AS r`;
const NEWEST = 'SELECT last_value FROM qmemacct.record_id_seq WHERE is_called';

function recordsOf(rows: readonly Row[]): readonly NumberedRecord[] {
  return readRows(rows, 1).map(({ record }, index) => ({ id: rows[index]?.[0] ?? 0, record }));
}

/**
 * The PostgreSQL store at a URL as a feed of its table; accounts in the inbox come once they are settled. Ids are given
 * under the merger's lock, so readers see them in order. Connects with the first query. Throws StoreError.
 */
export function openPostgresFeed(url: string, options: ConnectOptions): RecordFeed {
  const db = connect(url, options);
  return {
    identity: async () => (await db.rows<[string]>('SELECT id FROM qmemacct.store'))[0]?.[0] ?? '',
    newest: async () => (await db.rows<[number]>(NEWEST))[0]?.[0] ?? 0,
    after: async (id, most) =>
      recordsOf(await db.rows<Row>(`${ROWS} WHERE r.id > $1::bigint ORDER BY r.id LIMIT $2::bigint`, [id, most])),
    ended: async (ids) => {
      const list = JSON.stringify(ids);
      const present = await db.rows<[number]>(`SELECT id FROM qmemacct.record WHERE id IN ${NUMBERS}`, [list]);
      const known = new Set(present.map(([id]) => id));
      const rows = await db.rows<Row>(`${ROWS} WHERE r.status <> 1 AND r.id IN ${NUMBERS} ORDER BY r.id`, [list]);
      return { records: recordsOf(rows), gone: ids.filter((id) => !known.has(id)) };
    },
    close: () => db.close(),
  };
}
