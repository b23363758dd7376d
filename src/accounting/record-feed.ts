import type { JobRecord } from '../record/record';

/** A record, without its series, under the number that it keeps in its store. */
export interface NumberedRecord {
  readonly id: number;
  readonly record: JobRecord;
}

/**
 * The records of a store in the order in which they came into it: numbers only rise, and none is given twice. Methods
 * reject with StoreError.
 */
export interface RecordFeed {
  /** A text that never changes for one store, and that no other store has. */
  identity(): Promise<string>;
  /** The highest number that was ever given, even to a record that is gone; 0: none was. */
  newest(): Promise<number>;
  /** The next records after `id`, at most `most`, in their order. */
  after(id: number, most: number): Promise<readonly NumberedRecord[]>;
  /** The records among `ids` that have ended, and which of `ids` are gone (merged into another record, or pruned). */
  ended(
    ids: readonly number[],
  ): Promise<{ readonly records: readonly NumberedRecord[]; readonly gone: readonly number[] }>;
  close(): Promise<void>;
}
