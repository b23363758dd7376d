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
  /** When lines of Grid Engine's accounting were last imported (ms since the epoch); null: never, or that user may not look. */
  imported: nullable(number()),
  /** As `Growth`, and the bytes that are free on its disk; null: PostgreSQL's disk is another host's. */
  size: nullable(object({ bytes: number(), spare_bytes: number(), bytes_a_day: nullable(number()), free: number() })),
});
export type StoreProbe = ValueOf<typeof storeProbe>;
