import type { SlotRange } from './job-detail';

/** Ranges as Grid Engine writes them: `16`, `4-8`, `2-10:2`, `1-`, `-8`, several with commas; what is none is left out. */
export function parseSlotRanges(text: string): readonly SlotRange[] {
  return text
    .split(',')
    .map((part) => /^\s*(\d{0,10})(-(\d{0,10}))?(?::(\d{1,10}))?\s*$/.exec(part))
    .filter((match) => match !== null)
    .filter(([, least, , most]) => least !== '' || (most !== undefined && most !== ''))
    .map(([, least = '', dash, most = '', step]) => ({
      least: least === '' ? 1 : Number(least),
      most: dash === undefined ? Number(least) : most === '' ? OPEN : Number(most),
      step: step === undefined ? 1 : Math.max(1, Number(step)),
    }));
}

/** What Grid Engine takes for an open end (RANGE_INFINITY). */
const OPEN = 9_999_999;
