export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export const JOULES_PER_KWH = 3_600_000;

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;

/** A number as clocks and calendars show it: "07". */
export const twoDigits = (value: number): string => String(value).padStart(2, '0');

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };

/** The ms in "90s", "30m", "2h", "1d", "2w"; null: the text has another form. */
export function readSpan(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  return count === undefined || unit === undefined ? null : Number(count) * (UNIT_MS[unit] ?? 0);
}
