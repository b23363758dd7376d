import { clockIsSynchronised } from '../../native/clock';
import { findingsIn, type Finding } from './finding';

const { ok, note, warning } = findingsIn('clock');

/** Records of several hosts are joined by time: accounting lines within 2 s. */
export function checkClock(now: Date): Finding[] {
  const synchronised = clockIsSynchronised();
  const says = now.toISOString();
  if (synchronised === null) return [note('clock', `${says}; whether it is kept right can't be asked here`)];
  return [
    synchronised
      ? ok('clock', `${says}, kept right by a time service`)
      : warning(
          'clock',
          `${says}; no time service keeps it right, and records of several hosts are joined by time`,
          'run chrony, ntpd or systemd-timesyncd',
        ),
  ];
}
