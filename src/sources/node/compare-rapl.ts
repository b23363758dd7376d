/** What two ways to the same energy counter say of each other. */
interface RaplComparison {
  /** null: the interval has nothing to compare. */
  readonly agree: boolean | null;
  /** Difference over the larger of the two, 0 to 1. */
  readonly difference: number;
  /** One line for `doctor`. */
  readonly says: string;
}

const MOST_DIFFERENCE = 0.05;
/** The two are not read at the same moment and advance in steps of 1 ms: below this a step is more than the tolerance. */
const LEAST_SECONDS = 0.5;

/**
 * Whether the energy that powercap and perf events give for one domain over one interval is the same within 5 %. Where it
 * isn't, one of them counts another domain, the wrong unit, or has lost a wrap-around: neither is to be believed.
 */
export function compareRapl(powercapJoules: number, perfJoules: number, dtSeconds: number): RaplComparison {
  const unknown = (why: string): RaplComparison => ({ agree: null, difference: 0, says: `not compared: ${why}` });
  if (![powercapJoules, perfJoules, dtSeconds].every(Number.isFinite)) return unknown('a reading is missing');
  if (powercapJoules < 0 || perfJoules < 0) return unknown('a counter began anew');
  if (dtSeconds < LEAST_SECONDS) return unknown(`less than ${LEAST_SECONDS} s between the readings`);
  const larger = Math.max(powercapJoules, perfJoules);
  const difference = larger === 0 ? 0 : Math.abs(powercapJoules - perfJoules) / larger;
  const watts = (joules: number): string => `${(joules / dtSeconds).toFixed(1)} W`;
  const agree = difference <= MOST_DIFFERENCE;
  return {
    agree,
    difference,
    says:
      `powercap ${watts(powercapJoules)}, perf events ${watts(perfJoules)}: ` +
      `${agree ? 'they agree' : 'they disagree by'} ${agree ? 'within 5 %' : `${(difference * 100).toFixed(0)} %`}`,
  };
}
