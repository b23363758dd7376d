import { warn, screenOf } from './output';
import type { GlobalOptions, LiveParts } from './command-context';
import { CommandError, EXIT } from './command-error';
import { fetchView, nothingKnown, type LiveAnswer } from './live-view';
import type { LiveSources } from './live-sources';
import type { Terminal } from './terminal';
import type { Settings } from '../record/settings';
import type { WatchState } from '../report/live/watch-state';
import { constants } from 'node:os';

/** A table may be as wide as the terminal. */
export const WIDEST_TABLE = 400;

interface LiveWatch {
  readonly start: WatchState;
  /** With the jobs that wait, even while they are not shown. */
  readonly pending: boolean;
  readonly interval: number;
  readonly settings: Settings;
  readonly sources: LiveSources;
}

/** Shows the cluster until somebody quits; resolves to the exit status: 128 and its number after a signal. */
export async function watchCluster(
  { start, pending, interval, settings, sources }: LiveWatch,
  options: GlobalOptions,
  terminal: Terminal,
  tty: LiveParts['tty'],
): Promise<number> {
  const [{ watch }, { processTty }] = await Promise.all([import('./watch/watch.js'), import('./watch/watch-tty.js')]);
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
  // TypeScript does not see what the callback assigned.
  const last = answer as LiveAnswer | null;
  if (last === null || last.jobsKnown) return EXIT.found;
  throw new CommandError(nothingKnown(last.view), EXIT.unavailable);
}

/** Tells what is amiss beside the answer. */
export function warnOfProblems({ view }: LiveAnswer, terminal: Terminal): void {
  view.problems.forEach((problem) => warn(terminal, problem));
}
