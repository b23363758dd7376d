import { DAY_MS, MIB } from '../../base/units';
import { formatBytes } from '../../report/format/units';
import { formatDay } from '../../report/format/local-time';
import { findingsIn, type Finding } from './finding';
import type { StoreProbe } from './store-answer';

const { ok, warning, problem } = findingsIn('accounting');

const FULL_SOON_DAYS = 90;
const FULL_AT_ONCE_DAYS = 7;
/** Less space than this can't hold the journal of a large delivery. */
const LEAST_FREE_BYTES = 4 * MIB;
const FIX = 'make room, or keep records and series for a shorter time: see "qmemacct prune --help"';
/** A forecast beyond this means nothing. */
const FAR_DAYS = 3650;

/** Checks the size of the accounting DB, and when its disk will be full if it grows as in the last four weeks. */
export function checkSize({ bytes, spare_bytes: spare, bytes_a_day: daily, free }: SizeOf, now: Date): Finding {
  const head = `${formatBytes(bytes)}, and ${formatBytes(free)} are free on its disk`;
  if (free < LEAST_FREE_BYTES) return problem('size', `${head}: records can't be delivered`, FIX);
  if (daily === null) return ok('size', `${head}; how fast it grows is known after a day`);
  const days = daily === 0 ? Infinity : (spare + free) / daily;
  const rate = `it grows by ${formatBytes(daily)} a day`;
  if (days > FAR_DAYS) return ok('size', `${head}; ${rate}: enough for more than ten years`);
  const says = `${head}; ${rate}: full on ${formatDay(new Date(now.getTime() + days * DAY_MS))}`;
  if (days > FULL_SOON_DAYS) return ok('size', says);
  const say = days > FULL_AT_ONCE_DAYS ? warning : problem;
  return say('size', says, FIX);
}

type SizeOf = NonNullable<StoreProbe['size']>;
