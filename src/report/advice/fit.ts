import { CLOSE_TO_LIMIT } from '../../record/cause';
import { figureOf, judgedEnd, shareOf } from '../../record/peak-figure';
import type { Bracket, JobRecord } from '../../record/record';

type NeedQuantity = 'peak_rss' | 'peak_rss_swap' | 'peak_process_vmem';

/** What h_vmem must not be smaller than, on one host. */
export interface Need {
  readonly bytes: number;
  readonly quantity: NeedQuantity;
  readonly bracket: Bracket;
}

// Grid Engine 8.1.9 kills by the sum of RSS and swap, the kernel refuses memory by the address space of one process.
const DECISIVE: readonly NeedQuantity[] = ['peak_process_vmem', 'peak_rss_swap', 'peak_rss'];

/** The largest of the peaks that h_vmem acts on, by the ends that may be judged by. null: none is known. */
export function needOf(record: JobRecord): Need | null {
  let need: Need | null = null;
  for (const quantity of DECISIVE) {
    const bracket = record[quantity];
    if (bracket !== null && (need === null || judgedEnd(bracket) > need.bytes))
      need = { bytes: judgedEnd(bracket), quantity, bracket };
  }
  return need;
}

/** Memory that the record may use on its host; null: no limit, or none known. */
export function limitOf(record: JobRecord): number | null {
  return record.h_vmem?.limit_bytes ?? null;
}

/** How near to its limit a record came, for an order among several; without a limit nearly nothing. */
export function fullness(record: JobRecord): number {
  const need = needOf(record)?.bytes ?? -1;
  return shareOf(need, limitOf(record)) ?? need / 2 ** 60;
}

/** `perhaps-close`: its upper end is, what it was seen to hold is not. */
export type Fit = 'above' | 'close' | 'perhaps-close' | 'fits' | 'far-below' | 'no-limit' | 'unknown';

export { CLOSE_TO_LIMIT };
/** Below this share of the limit a request is called far too large. */
export const FAR_BELOW_LIMIT = 0.25;

const heldOf = (bracket: Bracket | null): number => (bracket === null ? 0 : figureOf(bracket));

/** How what a record needed compares with its limit. */
export function fitOf(record: JobRecord): Fit {
  const need = needOf(record);
  const limit = limitOf(record);
  if (need === null) return 'unknown';
  const share = shareOf(need.bytes, limit);
  if (share === null || limit === null) return 'no-limit';
  const held = DECISIVE.reduce((most, quantity) => Math.max(most, heldOf(record[quantity]) / limit), 0);
  if (held > 1) return 'above';
  if (held >= CLOSE_TO_LIMIT) return 'close';
  if (share >= CLOSE_TO_LIMIT) return 'perhaps-close';
  return share < FAR_BELOW_LIMIT ? 'far-below' : 'fits';
}
