import type { LiveSources } from '../../src/cli/live/sources';
import type { Snapshot } from '../../src/live/snapshot';
import type { JobRecord } from '../../src/record/record';
import { sampleRecords, sampleSnapshot } from '../live/snapshots';

/** Answers of qmaster and the samplers, by default of the sample cluster; `asked`: of each call, whether for pending jobs. */
export function fakeLiveSources(
  snapshot: Snapshot = sampleSnapshot(),
  records: readonly JobRecord[] = sampleRecords(),
  warning: string | null = null,
): LiveSources & { readonly asked: boolean[] } {
  const asked: boolean[] = [];
  return {
    asked,
    snapshot: (_settings, { pending }) => {
      asked.push(pending);
      return Promise.resolve({ snapshot: pending ? snapshot : { ...snapshot, pending: null }, warning });
    },
    tools: () => Promise.reject(new Error('no cell')),
    running: () => Promise.resolve(records),
  };
}
