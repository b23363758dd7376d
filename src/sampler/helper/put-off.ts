/** A source that keeps failing to answer: how often in a row, and until when it is not asked again. */
export interface PutOff {
  readonly failures: number;
  readonly untilMs: number;
}

const FAILURES_BORNE = 3;
const FIRST_MS = 30_000;
const LONGEST_MS = 600_000;

/** After one more failure: the third in a row puts it off for 30 s, and each further one for twice as long, up to 10 min. */
export function putOff(before: PutOff | undefined, nowMs: number): PutOff {
  const failures = (before?.failures ?? 0) + 1;
  const doublings = failures - FAILURES_BORNE;
  return { failures, untilMs: doublings < 0 ? nowMs : nowMs + Math.min(LONGEST_MS, FIRST_MS * 2 ** doublings) };
}
