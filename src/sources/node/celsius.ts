/**
 * Sensors that are off or broken report values that no part of a running machine can have: -274000 (THERMAL_TEMP_INVALID),
 * -128000, 65261850 (a limit that an NVMe disk does not know).
 */
const LEAST_CELSIUS = -100;
const MOST_CELSIUS = 250;

/** Millidegrees of the kernel in degrees; null: no reading. */
export function celsiusOf(millidegrees: number | null): number | null {
  if (millidegrees === null) return null;
  const celsius = millidegrees / 1000;
  return celsius >= LEAST_CELSIUS && celsius <= MOST_CELSIUS ? celsius : null;
}
