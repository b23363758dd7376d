import { CLOSE_TO_LIMIT } from '../accounting/cause';
import type { Bracket, JobRecord } from '../sampler/record';

export type NeedQuantity = 'peak_rss' | 'peak_rss_swap' | 'peak_process_vmem';

/** What h_vmem must not be smaller than, on one host. */
export interface Need {
  readonly bytes: number;
  readonly quantity: NeedQuantity;
  readonly bracket: Bracket;
}

// Grid Engine 8.1.9 kills by the sum of RSS and swap, the kernel refuses memory by the address space of one process.
const DECISIVE: readonly NeedQuantity[] = ['peak_process_vmem', 'peak_rss_swap', 'peak_rss'];

const end = (bracket: Bracket): number => bracket.upper_bytes ?? bracket.lower_bytes;

/** The largest of the peaks that h_vmem acts on; an open peak counts with its lower end. null: none is known. */
export function needOf(record: JobRecord): Need | null {
  let need: Need | null = null;
  for (const quantity of DECISIVE) {
    const bracket = record[quantity];
    if (bracket !== null && (need === null || end(bracket) > need.bytes))
      need = { bytes: end(bracket), quantity, bracket };
  }
  return need;
}

/** Memory that the record may use on its host; null: no limit, or none known. */
export function limitOf(record: JobRecord): number | null {
  return record.h_vmem?.limit_bytes ?? null;
}

export type Fit = 'above' | 'close' | 'fits' | 'far-below' | 'no-limit' | 'unknown';

export { CLOSE_TO_LIMIT };
/** Below this share of the limit a request is called far too large. */
export const FAR_BELOW_LIMIT = 0.25;

/** How what a record needed compares with its limit. */
export function fitOf(record: JobRecord): Fit {
  const need = needOf(record);
  const limit = limitOf(record);
  if (need === null) return 'unknown';
  if (limit === null || limit <= 0) return 'no-limit';
  const share = need.bytes / limit;
  if (share > 1) return 'above';
  if (share >= CLOSE_TO_LIMIT) return 'close';
  return share < FAR_BELOW_LIMIT ? 'far-below' : 'fits';
}
