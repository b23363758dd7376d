import { renderJobs } from '../../src/report/live/jobs';
import { NO_FILTER } from '../../src/report/live/filter';
import { renderWatch } from '../../src/report/live/watch-screen';
import { rememberingSelect } from '../../src/report/live/watch-selection';
import { startWatching, stepWatch, type WatchState } from '../../src/report/live/watch-state';
import { renderJobsJson } from '../../src/report/live/json';
import { drawFrame } from '../../src/cli/watch/frame';
import type { ClusterView } from '../../src/live/cluster-view';
import { liveScreen, manyJobs, sampleView } from '../report/live/sample-view';
import type { BenchOptions, Row, Section } from './bench';

/** Screens of 160 columns and 50 rows, on which most jobs do not fit. */
const ROWS = 50;
const screen = liveScreen({ width: 160, colour: true });

function timed(act: () => unknown): number {
  const start = performance.now();
  act();
  return performance.now() - start;
}

const repeated = (times: number, act: () => unknown): readonly number[] =>
  Array.from({ length: times }, () => timed(act));

function rowsOf(jobs: number, runs: number): readonly Row[] {
  const many = manyJobs(jobs);
  // A new object each time, as at a refresh, so that no cache helps.
  const fresh = (): ClusterView => sampleView({ jobs: many });
  const start = startWatching('jobs', { filter: NO_FILTER, sorting: null, details: false });
  const select = rememberingSelect();
  const show = (state: WatchState, view: ClusterView): void => {
    const frame = renderWatch(state, view, select(state, view), screen, ROWS);
    drawFrame(null, frame.lines, 160, ROWS);
  };
  const extent = { lines: jobs, room: ROWS - 4 };
  const view = fresh();
  show(start, view);
  const refreshes = Array.from({ length: runs }, () => {
    const next = fresh();
    return timed(() => show(start, next));
  });
  let state = start;
  const scrolls = repeated(runs, () => {
    state = stepWatch(state, 'pagedown', extent);
    show(state, view);
  });
  const sorts = repeated(runs, () => {
    state = stepWatch(state, 's', extent);
    show(state, view);
  });
  const wholes = repeated(Math.max(1, Math.floor(runs / 5)), () =>
    renderJobs({ view, jobs: many, pending: null }, screen),
  );
  const machine = repeated(Math.max(1, Math.floor(runs / 5)), () =>
    renderJobsJson({ view, jobs: many, pending: null }),
  );
  return [
    { what: 'a refresh with new figures', unit: 'ms', values: refreshes, budget: 'refresh of the watch' },
    { what: 'a key that scrolls', unit: 'ms', values: scrolls },
    { what: 'a key that sorts', unit: 'ms', values: sorts },
    { what: 'all of them printed (no --watch)', unit: 'ms', values: wholes },
    { what: '--json', unit: 'ms', values: machine },
  ];
}

/** How long a person waits for the screens of the live cluster. */
/** Refresh, keys and whole output of `qmemacct live` at 1,000 and 10,000 running jobs. */
export function screenSections({ runs, quick, progress }: BenchOptions): Promise<readonly Section[]> {
  const times = Math.min(runs, quick ? 10 : 50);
  return Promise.resolve(
    [1000, 10_000].map((jobs): Section => {
      progress(`live: screens of ${jobs} jobs`);
      return {
        title: `qmemacct live, ${jobs} running jobs, 160 x ${ROWS} in colour`,
        rows: rowsOf(jobs, times),
      };
    }),
  );
}
