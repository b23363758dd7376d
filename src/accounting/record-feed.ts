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
  /** The same for one store always, and for no other. */
  identity(): Promise<string>;
  /** The highest number that was ever given, also to records that are there no more; 0: none was. */
  newest(): Promise<number>;
  /** The next ones, at most `most`, in their order. */
  after(id: number, most: number): Promise<readonly NumberedRecord[]>;
  /** Those that have ended among these, and which of these are there no more (merged into another, pruned). */
  ended(
    ids: readonly number[],
  ): Promise<{ readonly records: readonly NumberedRecord[]; readonly gone: readonly number[] }>;
  close(): Promise<void>;
}
