import type { JobRecord } from '../record/record';
import { formatMoment } from './local-time';
import type { Screen } from './screen';
import { formatDuration } from './units';

/** Samplers save every 5 s, the node's service every 20 s: what is no older needs no age. */
const FRESH_SECONDS = 25;
/** So many heartbeats may be missed before a job's node is called silent. */
const MISSED_HEARTBEATS = 5;
/** Where heartbeats are switched off. */
const USUAL_HEARTBEAT = 60;

/** How old the word of a running job is. */
interface HeardOf {
  readonly seconds: number;
  /** It should have been heard of again by now: its node, or the way from there, is down, or it has ended unseen. */
  readonly silent: boolean;
}

/** null: the job does not run by that word, or it is as fresh as can be. */
export function heardOf(record: JobRecord, screen: Screen): HeardOf | null {
  if (record.status !== 'running') return null;
  const seconds = (screen.now.getTime() - record.revision) / 1000;
  if (seconds <= FRESH_SECONDS) return null;
  return { seconds, silent: seconds > MISSED_HEARTBEATS * (screen.heartbeatSeconds || USUAL_HEARTBEAT) };
}

/** "running", "running, 43 s ago", "not heard of since 2026-11-20 13:02:11". */
export function runningLabel(record: JobRecord, screen: Screen): string {
  const heard = heardOf(record, screen);
  if (heard === null) return 'running';
  if (heard.silent) return `not heard of since ${formatMoment(new Date(record.revision))}`;
  return `running, ${formatDuration(heard.seconds)} ago`;
}
