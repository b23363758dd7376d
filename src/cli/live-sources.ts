import type { JobRecord } from '../sampler/record';
import type { Settings } from '../sampler/settings';
import type { Snapshot } from '../live/snapshot';

/** What the live commands read, so that a test can put something else there. */
export interface LiveSources {
  /** What qmaster said last, asked again where that is old; `pending`: the jobs that wait, too. */
  readonly snapshot: (settings: Settings, options: { readonly pending: boolean }) => Promise<Snapshot>;
  /** Records so far of running jobs: those of this host that the caller may see, and what other hosts reported. */
  readonly running: (settings: Settings) => Promise<readonly JobRecord[]>;
}

/** The shared snapshot, `run_dir/live` of this host and the heartbeats of the others. */
export const realLiveSources: LiveSources = {
  snapshot: () => Promise.reject(new Error('not wired')),
  running: async (settings) => {
    const { realSources } = await import('./sources.js');
    return realSources.running(settings);
  },
};
