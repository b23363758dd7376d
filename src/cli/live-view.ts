import type { ClusterView } from '../live/cluster-view';
import { hVmemPer } from '../live/requests';
import { viewCluster } from '../live/view';
import { reasonOf } from '../base/log';
import type { JobRecord } from '../record/record';
import type { Settings } from '../record/settings';
import type { LiveSources, SnapshotOptions } from './live-sources';

/** The cluster as it is now. */
export interface LiveAnswer {
  readonly view: ClusterView;
  /** Whether qmaster has ever answered: what is empty then is known to be empty. */
  readonly jobsKnown: boolean;
  readonly hostsKnown: boolean;
}

/** Without the samplers' figures there is still much to tell. */
async function recordsOrProblem(
  sources: LiveSources,
  settings: Settings,
): Promise<{ readonly records: readonly JobRecord[]; readonly problem: string | null }> {
  try {
    return { records: await sources.running(settings), problem: null };
  } catch (error) {
    return { records: [], problem: `the figures of our own samplers are missing: ${reasonOf(error)}` };
  }
}

/** What qmaster said and what samplers say, put together. Rejects when the configuration can't be used. */
export async function fetchView(
  sources: LiveSources,
  settings: Settings,
  options: SnapshotOptions,
  now: () => Date,
): Promise<LiveAnswer> {
  const [{ snapshot, warning }, { records, problem }] = await Promise.all([
    sources.snapshot(settings, options),
    recordsOrProblem(sources, settings),
  ]);
  const joined = viewCluster(snapshot, records, {
    hVmem: hVmemPer(records),
    memoryComplexes: settings.memory_complexes,
    nowMs: now().getTime(),
  });
  const problems = [...joined.problems, warning, problem].filter((line) => line !== null);
  const view = { ...joined, problems };
  const hostsKnown = snapshot.hosts.at !== null;
  return { view, jobsKnown: hostsKnown || snapshot.running.at !== null, hostsKnown };
}

/** Why there is nothing to show at all. */
export function nothingKnown({ problems }: ClusterView): string {
  return problems.length > 0
    ? problems.join('\n')
    : 'Grid Engine has not answered yet; qstat and qhost tell whether it does';
}
