const multipliers: Readonly<Record<string, number>> = {
  '': 1,
  K: 1024,
  M: 1024 ** 2,
  G: 1024 ** 3,
  T: 1024 ** 4,
  P: 1024 ** 5,
  E: 1024 ** 6,
};

const units = ['', 'K', 'M', 'G', 'T', 'P', 'E'] as const;

/**
 * Bytes of a size as qhost prints it (`93.1G`, `984.1M`, `0.0`), good to half of its last digit; null for `-` (the host
 * does not report), `?`, `infinity` and anything else. Unlike what people type it has a P and an E.
 */
export function parsePrintedSize(text: string): number | null {
  const match = /^\s*(\d{1,20}(?:\.\d{1,20})?)([KMGTPE]?)\s*$/.exec(text);
  if (match === null) return null;
  return Math.round(Number(match[1]) * (multipliers[match[2] ?? ''] ?? 1));
}

/** A size as qhost prints it, for the dialect that tells bytes: one decimal, units of 1024. */
export function printSize(bytes: number): string {
  let rest = bytes;
  let unit = 0;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${rest.toFixed(1)}${units[unit] ?? ''}`;
}
