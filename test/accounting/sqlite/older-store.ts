import { SqliteDatabase } from '../../../src/native/sqlite';

const LAST_STEP_UNDONE = `
  DROP INDEX record_by_time; DROP INDEX record_self_reported;
  ALTER TABLE record DROP COLUMN h_vmem_request;
  ALTER TABLE record DROP COLUMN energy;
  ALTER TABLE record DROP COLUMN judged;
  DROP TABLE category; DROP TABLE name_class;
  DROP TABLE stale_day; DROP TABLE pruned_day; DROP TABLE pruned_series;
  DROP TABLE rollup; DROP TABLE rollup_again;
  DROP TABLE imported_file; DROP TABLE unreadable_line;
  PRAGMA user_version = 3;
`;

/** Makes of a store what the qmemacct before the history would have left: schema 3. */
export function makeOlder(path: string): void {
  new SqliteDatabase(path).exec(LAST_STEP_UNDONE).close();
}
