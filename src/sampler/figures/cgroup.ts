import { KIB } from '../../base/units';
import { readText } from '../../sources/files';
import { cgroupFacts, openCgroup } from '../../sources/job/cgroup';
import { cgroupReadings, OF_THE_JOB, type CgroupReading } from '../../sources/job/cgroup-reading';
import { ownGroup, type JobCgroup } from '../../sources/job/job-cgroup';
import { parseMeminfo } from '../../sources/node/meminfo';
import { ProcessFiles } from '../../sources/proc/process-files';
import { isUnavailable, THIS_MACHINE } from '../../sources/source';
import type { Settings } from '../../record/settings';
import {
  footprintEnds,
  groupSlackBytes,
  NO_FOOTPRINT,
  observeFootprint,
  type FootprintEnds,
} from '../peaks/footprint-ends';
import { runDirectoryName, type RunDescription } from '../job/run-description';
import { newSeriesBuffer } from '../series/series-buffer';
import { chooseSource } from '../source-settings';
import { thisMachine } from '../peaks/slack';
import { readEvery, type FigurePart, type JobMetrics, type PartContext } from './part';

export interface CgroupFigures extends FigurePart {
  /** Bounds of the footprint by the group's own count; null: no group. `ended`: no process of the job is left. */
  readonly footprint: (ended: boolean) => FootprintEnds | null;
}

/** Figures of `found`, the job's own control group; null: the source is switched off. */
export function cgroupFigures({ run, settings, series }: PartContext, found: JobCgroup): CgroupFigures | null {
  const { enabled, intervalMs } = chooseSource(cgroupFacts, settings);
  if (!enabled) return null;
  series.know(cgroupFacts.metrics);
  const notes: string[] = [];
  const opened = openCgroup(found.directories, THIS_MACHINE);
  if (isUnavailable(opened)) notes.push(`The job's cgroup could not be read: ${opened.unavailable}.`);
  const group = isUnavailable(opened) ? null : opened;
  // The shepherd is in a group of our own, too.
  const others =
    found.origin === 'own' ? (new ProcessFiles(run.shepherdPid, { left: 0 }).memory()?.rssAnon ?? 0) * KIB : 0;
  let last: CgroupReading | null = null;
  let state = NO_FOOTPRINT;
  /** systemd removes a scope as soon as it is empty: what was in it after the last reading is not known. */
  let missed = false;

  function read(atMs: number): void {
    const reading = group?.read() ?? null;
    missed = reading === null || isUnavailable(reading);
    if (reading === null || isUnavailable(reading)) return;
    last = reading;
    state = observeFootprint(state, reading, atMs);
    series.add(cgroupFacts.name, atMs, cgroupReadings(reading));
  }

  return {
    absolute: true,
    ...readEvery(intervalMs, read),
    metrics: () => {
      if (last === null) return {};
      // If nothing had been killed at the last reading, something may have been later.
      const { oomKills, oomEvents } = last;
      const known = missed
        ? { ...last, oomKills: oomKills === 0 ? null : oomKills, oomEvents: oomEvents === 0 ? null : oomEvents }
        : last;
      return Object.fromEntries(
        cgroupReadings(known)
          .filter(({ metric }) => OF_THE_JOB.has(metric))
          .map(({ metric, value }) => [metric, value]),
      );
    },
    notes: () => notes,
    footprint: (ended) =>
      group === null
        ? null
        : footprintEnds(state, {
            version: group.version,
            nodeSwapBytes: parseMeminfo(readText('/proc/meminfo') ?? '').get('SwapTotal') ?? null,
            slackBytes: groupSlackBytes(thisMachine()),
            othersBytes: others,
            toEnd: ended && !missed,
            coversSubgroups: group.coversSubgroups(),
          }),
    close: () => group?.close(),
  };
}

export interface GroupAtEnd {
  readonly footprint: FootprintEnds | null;
  readonly metrics: JobMetrics;
  readonly notes: readonly string[];
}

export const NO_GROUP: GroupAtEnd = { footprint: null, metrics: {}, notes: [] };

/**
 * Figures from the group that our prolog made for a job, read after the job's end, whether or not a sampler lived that
 * long: the kernel counted all the time.
 */
export function groupAtEnd(run: RunDescription, settings: Settings): GroupAtEnd {
  const found = run.hooks === 'root' ? ownGroup(runDirectoryName(run)) : null;
  const context = { run, settings, series: newSeriesBuffer([]), begunMs: 0, before: {} };
  const figures = found === null ? null : cgroupFigures(context, found);
  if (figures === null) return NO_GROUP;
  figures.finish?.();
  const { footprint, metrics, notes, close } = figures;
  const known = { footprint: footprint(true), metrics: metrics(), notes: notes() };
  close?.();
  return known;
}
