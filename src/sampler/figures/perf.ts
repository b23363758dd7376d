import { openPerf } from '../../sources/job/perf';
import { perfEvents, perfFacts, perfMetricReadings } from '../../sources/job/perf-metrics';
import { isUnavailable, THIS_MACHINE, type Reading } from '../../sources/source';
import { chooseSource } from '../source-settings';
import { readEvery, type FigurePart, type PartContext } from './part';

/**
 * Perf counters of the job: on the shepherd, inherited by all processes that it starts from now on. The last reading
 * ends the count; the epilog is a child of the shepherd, too, so its first moments may be included.
 */
export function perfFigures({ run, settings, series }: PartContext): FigurePart | null {
  const { enabled, intervalMs, options } = chooseSource(perfFacts, settings);
  if (!enabled) return null;
  series.know(perfFacts.metrics);
  const notes: string[] = [];
  const start = (pid: number, includeSelf: boolean): ReturnType<typeof openPerf> =>
    openPerf({ pid, includeSelf }, perfEvents(options), THIS_MACHINE);
  let opened = run.attached ? null : start(run.shepherdPid, false);
  let last: readonly Reading[] = [];

  function explain(): void {
    if (opened === null) return;
    if (isUnavailable(opened)) {
      notes.push(`No perf counters: ${opened.unavailable}.`);
      return;
    }
    for (const { event, unavailable } of opened.refused) notes.push(`Not counted: ${event} (${unavailable}).`);
    notes.push(...opened.notes);
  }

  function read(atMs: number): void {
    if (opened === null || isUnavailable(opened)) return;
    last = perfMetricReadings(opened.read());
    series.add(perfFacts.name, atMs, last);
  }

  explain();
  return {
    started: (rootPid) => {
      if (run.attached) {
        opened = start(rootPid, true);
        explain();
      } else if (opened !== null && !isUnavailable(opened) && opened.uncoveredChildren?.includes(rootPid) === true) {
        opened.close();
        opened = start(rootPid, true);
        notes.push(
          'Perf counters began after the job: its first moments, and children that it had by then, are missing ' +
            '(arm_wait_ms makes the prolog wait for them).',
        );
      }
    },
    ...readEvery(intervalMs, read),
    metrics: () =>
      Object.fromEntries(last.filter(({ instance }) => instance === '').map(({ metric, value }) => [metric, value])),
    notes: () => notes,
    close: () => {
      if (opened !== null && !isUnavailable(opened)) opened.close();
    },
  };
}
