import { boolean, nullable, number, object, string, type ValueOf } from '../../base/shape';

/** What store-probe.ts prints. */
export const storeProbe = object({
  exists: boolean,
  /** Why it can't be opened or written; null: it can. */
  problem: nullable(string),
  /** What SQLite finds wrong in the file; null: nothing, or it was not looked at. */
  damage: nullable(string),
  /** Type of the network file system that holds it; null: local. */
  network: nullable(string),
  /** Its journal is a write-ahead log, which needs memory that all its users share. */
  wal: boolean,
  /** What waits in PostgreSQL's inbox; null: that user may not look. */
  inbox: nullable(object({ rows: number(), oldest: number(), unreadable: number() })),
  /** null: that user may not look. */
  imported: nullable(
    object({
      /** When lines of Grid Engine's accounting last came (ms since the epoch); null: never. */
      at: nullable(number()),
      /** Why the accounting file given would not be imported; null: it would, or that user can't read it. */
      refused: nullable(object({ says: string, fix: string })),
    }),
  ),
  /** As `Growth`, and the bytes that are free on its disk; null: PostgreSQL's disk is another host's. */
  size: nullable(object({ bytes: number(), spare_bytes: number(), bytes_a_day: nullable(number()), free: number() })),
});
export type StoreProbe = ValueOf<typeof storeProbe>;
