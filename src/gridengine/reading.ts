import type { Dialect } from './dialect';

/**
 * Reads one answer of qstat or qhost piece by piece: what it finds goes to the callback that it was made with, so that
 * an answer of any size passes in bounded memory. Neither method throws, whatever the bytes are.
 */
export interface AnswerReader {
  write(piece: Uint8Array): void;
  end(): AnswerEnd;
}

/** How an answer ended. */
export interface AnswerEnd {
  /**
   * `complete`: the document was closed. `truncated`: it ends in the middle. `empty`: no bytes but blanks. `refused`:
   * Grid Engine says that it can't or won't answer (`said`). `foreign`: something else altogether.
   */
  readonly state: 'complete' | 'truncated' | 'empty' | 'refused' | 'foreign';
  /** First line of what Grid Engine said beside or instead of the document, without control characters; null: nothing. */
  readonly said: string | null;
  /** The dialect, by the schema address in the root element. */
  readonly dialect: Dialect;
  /** Ids that Grid Engine does not know (`unknown_jobs`). */
  readonly unknownJobs: readonly string[];
}
