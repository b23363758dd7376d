import type { LiveCell } from '../../live/poll-tools';
import type { PollTools, Query } from '../../live/poller';
import type { Snapshot } from '../../live/snapshot';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import { realSources, withSiteStore } from '../stores/stores';

export interface SnapshotOptions {
  /** Also the jobs that wait. */
  readonly pending: boolean;
  /** Of a user's own question to qmaster, these alone. */
  readonly queries?: readonly Query[];
  /** Nobody wants the answer any more. */
  readonly signal: AbortSignal;
  /** Called as soon as a client of Grid Engine runs. */
  readonly onAsking?: () => void;
}

/** What the live commands read, so that a test can put something else there. */
export interface LiveSources {
  /** What qmaster said last, asked again where that is old. What fails is in it, or beside it. */
  readonly snapshot: (
    settings: Settings,
    options: SnapshotOptions,
  ) => Promise<{ readonly snapshot: Snapshot; readonly warning: string | null }>;
  /** What qmaster is asked with about single jobs. Rejects with UntrustedError. */
  readonly tools: (settings: Settings) => Promise<Pick<PollTools, 'run' | 'readers'>>;
  /** Records so far of running jobs: those of this host that the caller may see, and what other hosts reported. */
  readonly running: (settings: Settings) => Promise<readonly JobRecord[]>;
}

/** So many heartbeats may be missed before a host's word on its jobs is too old to be shown. */
const HEARTBEATS = 5;
/** A node that delivers late, and clocks that differ. */
const LEAST_PATIENCE_MS = 300_000;

/**
 * The last heartbeats of all hosts, from the site's accounting DB or, for who may not read it, from its server. Where
 * there is neither, Grid Engine's figures stand alone: for most users of a site without a server that is no problem to be
 * warned of each time. Rejects with StoreError or ClientError.
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

/** The snapshot that commands share, `run_dir/live` of this host, and the heartbeats of all. */
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
