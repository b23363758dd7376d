import { boolean, nullable, number, object, string, type ValueOf } from '../../base/shape';

/** What store-probe.ts prints. */
export const storeProbe = object({
  exists: boolean,
  /** Why it can't be opened or written; null: it can. */
  problem: nullable(string),
  /** What to do about `problem`; null: there is none, or it is an error of the file system. */
  fix: nullable(string),
  /** What SQLite finds wrong in the file; null: nothing, or it was not looked at. */
  damage: nullable(string),
  /** Type of the network file system that holds it; null: local. */
  network: nullable(string),
  /** Its journal is a write-ahead log (WAL), which needs memory shared by all users of the file. */
  wal: boolean,
  /** What waits in PostgreSQL's inbox; null: SQLite, or the user may not look. */
  inbox: nullable(object({ rows: number(), oldest: number(), unreadable: number() })),
  /** null: the user may not look. */
  imported: nullable(
    object({
      /** When lines of Grid Engine's accounting last came (ms since the epoch); null: never. */
      at: nullable(number()),
      /** Why the given accounting file would not be imported; null: it would be, or the user can't read it. */
      refused: nullable(object({ says: string, fix: string })),
    }),
  ),
  /** As `Growth`, and the free bytes on its disk; null: PostgreSQL, whose disk is on another host. */
  size: nullable(object({ bytes: number(), spare_bytes: number(), bytes_a_day: nullable(number()), free: number() })),
});
export type StoreProbe = ValueOf<typeof storeProbe>;
