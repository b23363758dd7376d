import { wholeCharacters } from '../gridengine/bytes-to-text';
import { RECORD_LIMITS } from './fields';

/** A text, cut at a character boundary if it is longer than a record may hold. */
export function clipText<T extends string | null>(text: T): T {
  const most = RECORD_LIMITS.stringBytes;
  if (text === null || text.length * 3 <= most || Buffer.byteLength(text) <= most) return text;
  const bytes = Buffer.from(text);
  return bytes.toString('utf8', 0, wholeCharacters(bytes, 0, most)) as T;
}

/** The first notes, as many as a record may hold: a job can cause any number of notes. */
export const clipNotes = (notes: readonly string[]): readonly string[] =>
  notes.slice(0, RECORD_LIMITS.notes).map(clipText);
