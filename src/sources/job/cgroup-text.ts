/** Texts that both versions of control groups use. Numbers of bytes or events beyond 2^53 are no measurement: null. */

/** A decimal number of bytes or events, alone in its file; null for "max" and anything else. */
export function parseAmount(text: string | null): number | null {
  const word = text?.trim() ?? '';
  return /^\d{1,16}$/.test(word) && Number.isSafeInteger(Number(word)) ? Number(word) : null;
}

/**
 * Nanoseconds as seconds, also above 2^53, which one CPU reaches in 104 days, 128 CPUs in 20 hours. null: no number.
 */
export function parseNanoseconds(text: string | null | undefined): number | null {
  const word = text?.trim() ?? '';
  return /^\d{1,20}$/.test(word) ? Number(word) / 1e9 : null;
}

/** Parses lines "key value"; other lines, and values that are no number, are left out. */
export function parseKeyed(text: string | null): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const line of text?.split('\n') ?? []) {
    const blank = line.indexOf(' ');
    const value = blank > 0 ? parseAmount(line.slice(blank + 1)) : null;
    if (value !== null) values.set(line.slice(0, blank), value);
  }
  return values;
}

/** Bytes that processes moved from and to a disk. */
export interface DiskBytes {
  readonly read: number;
  readonly written: number;
}

/** The amounts that count, of what a group's file says by device now. */
export type CountDisks = (now: ReadonlyMap<string, DiskBytes>) => readonly DiskBytes[];

/** `value` divided by `by`, where there is a value. */
export const scaled = (value: number | null | undefined, by: number): number | null =>
  value === null || value === undefined ? null : value / by;
