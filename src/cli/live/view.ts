import { constants } from 'node:os';
import { reasonOf } from '../../base/user-error';
import type { ClusterView } from '../../live/cluster-view';
import type { Snapshot } from '../../live/snapshot';
import { viewCluster } from '../../live/view';
import type { JobRecord } from '../../record/record';
import { RequestRules } from '../../record/request-rules';
import type { Settings } from '../../record/settings';
import type { WatchState } from '../../report/live/watch-state';
import { type GlobalOptions, type LiveParts, CommandError, EXIT } from '../command';
import { warn, screenOf } from '../output';
import type { Terminal } from '../terminal';
import type { LiveSources, SnapshotOptions } from './sources';

/** The cluster as it is now. */
interface LiveAnswer {
  readonly snapshot: Snapshot;
  readonly view: ClusterView;
  /** Whether qmaster has ever answered, so that an empty list means that there are none. */
  readonly jobsKnown: boolean;
  readonly hostsKnown: boolean;
}

/** Does not reject: even without the samplers' figures there is much to show. */
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

/** Joins the answers of qmaster and the figures of samplers. Rejects if the configuration can't be used. */
async function fetchView(
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
    rules: new RequestRules(settings),
    nowMs: now().getTime(),
  });
  const problems = [...joined.problems, warning, problem].filter((line) => line !== null);
  const view = { ...joined, problems };
  const hostsKnown = snapshot.hosts.at !== null;
  return { snapshot, view, jobsKnown: hostsKnown || snapshot.running.at !== null, hostsKnown };
}

/** Why there is nothing to show at all. */
function nothingKnown({ problems }: ClusterView): string {
  return problems.length > 0
    ? problems.join('\n')
    : 'Grid Engine has not answered yet; qstat and qhost show whether it does';
}

/** A table may be as wide as the terminal. */
export const WIDEST_TABLE = 400;

interface LiveWatch {
  readonly start: WatchState;
  /** Asks for waiting jobs even while they are not shown. */
  readonly pending: boolean;
  readonly interval: number;
  readonly settings: Settings;
  readonly sources: LiveSources;
}

/** Shows the cluster until the user quits; resolves to the exit status: 128 + its number after a signal. */
export async function watchCluster(
  { start, pending, interval, settings, sources }: LiveWatch,
  options: GlobalOptions,
  terminal: Terminal,
  tty: LiveParts['tty'],
): Promise<number> {
  const [{ watch }, { processTty }] = await Promise.all([import('../watch/watch.js'), import('../watch/tty.js')]);
  let answer: LiveAnswer | null = null;
  const { signal } = await watch({
    start,
    interval,
    fetch: async (waiting, stopped) => {
      answer = await fetchView(sources, settings, { pending: waiting || pending, signal: stopped }, terminal.now);
      return answer.view;
    },
    screen: (columns) => screenOf(terminal, options, { columns, widest: WIDEST_TABLE }),
    tty: tty ?? processTty,
  });
  if (signal !== null) return 128 + constants.signals[signal];
  // TypeScript does not see that the callback assigns it.
  const last = answer as LiveAnswer | null;
  if (last === null || last.jobsKnown) return EXIT.found;
  throw new CommandError(nothingKnown(last.view), EXIT.unavailable);
}

/** Never aborted: a one-time command waits for the answer. */
const NEVER = new AbortController().signal;

/** The cluster as it is now; warns of problems. Rejects with CommandError if qmaster has never given `known`. */
export async function viewOnce(
  sources: LiveSources,
  settings: Settings,
  terminal: Terminal,
  { pending, known }: { readonly pending: boolean; readonly known: 'jobsKnown' | 'hostsKnown' },
): Promise<LiveAnswer> {
  const answer = await fetchView(sources, settings, { pending, signal: NEVER }, terminal.now);
  if (!answer[known]) throw new CommandError(nothingKnown(answer.view), EXIT.unavailable);
  answer.view.problems.forEach((problem) => warn(terminal, problem));
  return answer;
}
