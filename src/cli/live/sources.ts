import type { LiveCell } from '../../live/poll-tools';
import type { PollTools, Query } from '../../live/poller';
import type { Snapshot } from '../../live/snapshot';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import { realSources, withSiteStore } from '../stores/stores';

export interface SnapshotOptions {
  /** Also waiting jobs. */
  readonly pending: boolean;
  /** If a user's command asks qmaster itself: only these queries. */
  readonly queries?: readonly Query[];
  /** Aborted when nobody wants the answer any more. */
  readonly signal: AbortSignal;
  /** Called as soon as a client of Grid Engine runs. */
  readonly onAsking?: () => void;
}

/** What the live commands read; tests replace it. */
export interface LiveSources {
  /** qmaster's last answer, asked anew if it is old. Failures are in the snapshot, or in `warning`. */
  readonly snapshot: (
    settings: Settings,
    options: SnapshotOptions,
  ) => Promise<{ readonly snapshot: Snapshot; readonly warning: string | null }>;
  /** The tools for asking qmaster about single jobs. Rejects with UntrustedError. */
  readonly tools: (settings: Settings) => Promise<Pick<PollTools, 'run' | 'readers'>>;
  /** Preliminary records of running jobs: those on this host that the caller may see, and other hosts' heartbeats. */
  readonly running: (settings: Settings) => Promise<readonly JobRecord[]>;
}

/** A host's figures are shown until this many heartbeats are missing. */
const HEARTBEATS = 5;
/** Allows for late deliveries and for clocks that differ. */
const LEAST_PATIENCE_MS = 300_000;

/**
 * The last heartbeats of all hosts, from the site's accounting DB or, if the caller may not read it, from its server.
 * With neither, only Grid Engine's figures are shown, without a warning: on a site without a server that is normal for
 * most users. Rejects with StoreError or ClientError.
 */
async function heartbeats(settings: Settings): Promise<readonly JobRecord[]> {
  const since = Date.now() - Math.max(LEAST_PATIENCE_MS, HEARTBEATS * settings.heartbeat * 1000);
  return withSiteStore(settings, realSources, async ({ readers }) => {
    const answers = await Promise.all(readers.map((reader) => reader.running({ since })));
    return answers.flat().map(({ record }) => record);
  });
}

function whenAsking(cell: LiveCell, onAsking: () => void): LiveCell {
  const run: PollTools['run'] = (...words) => {
    const answer = cell.tools.run(...words);
    onAsking();
    return answer;
  };
  return { ...cell, tools: { ...cell.tools, run } };
}

/** Reads the snapshot that commands share, the records in this host's `run_dir/live`, and all hosts' heartbeats. */
function makeLiveSources(): LiveSources {
  let cell: LiveCell | null = null;
  return {
    snapshot: async (settings, { pending, queries, signal, onAsking }) => {
      const [{ liveSnapshot }, { liveCell, withQueries }] = await Promise.all([
        import('../../live/live-snapshot.js'),
        import('../../live/poll-tools.js'),
      ]);
      const { env } = process;
      const asked = (): LiveCell => {
        cell ??= liveCell(settings, env);
        const wanted = queries === undefined ? cell : withQueries(cell, queries);
        return onAsking === undefined ? wanted : whenAsking(wanted, onAsking);
      };
      return liveSnapshot({ settings, env, cell: asked, pending, signal });
    },
    tools: async (settings) => {
      const { liveCell } = await import('../../live/poll-tools.js');
      cell ??= liveCell(settings, process.env);
      return cell.tools;
    },
    running: async (settings) => [...(await heartbeats(settings)), ...(await realSources.running(settings))],
  };
}

export const realLiveSources: LiveSources = makeLiveSources();
