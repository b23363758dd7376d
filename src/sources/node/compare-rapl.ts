const MOST_DIFFERENCE = 0.05;
/** The two are not read at the same moment and advance in steps of 1 ms: below this a step is more than the tolerance. */
const LEAST_SECONDS = 0.5;

/**
 * In one line that the energy which powercap and perf events give for one domain over one interval differs by more than
 * 5 %; null: it does not, or there is nothing to compare. One of them counts another domain, the wrong unit, or has lost
 * a wrap-around: neither is to be believed.
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
