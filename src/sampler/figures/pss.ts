import { monotonicMs } from '../../base/monotonic';
import { pss } from '../../sources/job/pss';
import type { Reading } from '../../sources/source';
import { addPss, nextPssDelayMs, NO_PSS, pssMetrics } from './pss-sums';
import { chooseSource } from '../source-settings';
import { pidsOf, type FigurePart, type PartContext } from './part';

const WITHIN_MS = 120_000;

/** PSS, where shared pages are divided among the processes that map them: read now and then by the node's helper. */
export function pssFigures({ settings, series, begunMs }: PartContext): FigurePart | null {
  const { enabled, intervalMs } = chooseSource(pss, settings);
  if (!enabled) return null;
  let sums = NO_PSS;
  let asked = false;
  series.know(pss.metrics);
  // The first moments of a job say least.
  let dueMs = begunMs + intervalMs;

  function take(readings: readonly Reading[], atMs: number): void {
    sums = addPss(sums, readings);
    const totals = new Map<string, number>();
    for (const { metric, value } of readings) totals.set(metric, (totals.get(metric) ?? 0) + value);
    series.add(
      pss.name,
      atMs,
      [...totals].map(([metric, value]) => ({ metric, instance: '', value })),
    );
  }

  return {
    look: ({ nowMs, readings, link }) => {
      if (asked || link === null || nowMs < dueMs || readings.counters.size === 0) return;
      asked = true;
      dueMs = nowMs + intervalMs;
      void link.read(pss.name, pidsOf(readings), WITHIN_MS).then((answer) => {
        asked = false;
        if (answer?.unavailable !== null) return;
        take(answer.readings, Date.now());
        dueMs = monotonicMs() + nextPssDelayMs(answer.readings, intervalMs);
      });
    },
    metrics: () => pssMetrics(sums),
    notes: () => [],
  };
}
