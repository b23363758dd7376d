const MOST_DIFFERENCE = 0.05;
/**
 * The two are not read at the same moment and advance in steps of 1 ms: below this, a step can exceed the tolerance.
 */
const LEAST_SECONDS = 0.5;

/**
 * One line of text if the energies that powercap and perf events give for one domain and interval differ by more than 5
 * %; null: they don't, or there is nothing to compare. If they differ, one of them counts another domain or in the
 * wrong unit, or has lost a wrap-around: neither can be believed.
 */
export function raplDisagreement(
  powercapJoules: number | null,
  perfJoules: number | null,
  seconds: number,
): string | null {
  const isReading = (joules: number | null): joules is number => joules !== null && joules >= 0 && joules < Infinity;
  if (!isReading(powercapJoules) || !isReading(perfJoules) || !(seconds >= LEAST_SECONDS)) return null;
  const larger = Math.max(powercapJoules, perfJoules);
  const difference = larger === 0 ? 0 : Math.abs(powercapJoules - perfJoules) / larger;
  if (difference <= MOST_DIFFERENCE) return null;
  const watts = (joules: number): string => `${(joules / seconds).toFixed(1)} W`;
  const by = `${(difference * 100).toFixed(0)} %`;
  return `powercap ${watts(powercapJoules)}, perf events ${watts(perfJoules)}: they disagree by ${by}`;
}
