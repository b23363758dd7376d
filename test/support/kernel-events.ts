import { openKernelEvents } from '../../src/sources/events/kernel-events';
import { isUnavailable } from '../../src/sources/source';

/** Why the kernel's events can't be received in a network namespace (null: the test's own); null: they can. */
export function noKernelEvents(namespacePath: string | null): string | null {
  const events = openKernelEvents({ namespacePath, receiveBytes: 65_536 });
  if (isUnavailable(events)) return events.unavailable;
  const { processEvents, exitRecords } = events;
  events.close();
  for (const state of [processEvents, exitRecords]) if (state !== 'open') return state.unavailable;
  return null;
}
