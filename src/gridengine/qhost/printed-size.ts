const multipliers: Readonly<Record<string, number>> = {
  '': 1,
  K: 1024,
  M: 1024 ** 2,
  G: 1024 ** 3,
  T: 1024 ** 4,
  P: 1024 ** 5,
  E: 1024 ** 6,
};

/**
 * Bytes of a size as qhost prints it (`93.1G`, `984.1M`, `0.0`), good to half of its last digit; null for `-` (the host
 * does not report), `?`, `infinity` and anything else. Unlike what people type it has a P and an E.
 */
export function parsePrintedSize(text: string): number | null {
  const match = /^\s*(\d{1,20}(?:\.\d{1,20})?)([KMGTPE]?)\s*$/.exec(text);
  if (match === null) return null;
  return Math.round(Number(match[1]) * (multipliers[match[2] ?? ''] ?? 1));
}
