import { largestOfKnown, sumOfAll } from '../base/known';
import { figureOf, measuredUpper } from '../record/peak-figure';
import { compareTrust } from '../record/merge';
import type { JobRecord } from '../record/record';
import type { OurFigures } from './cluster-view';
import type { HostNames } from '../gridengine/host-names';

/** How far the clocks of qmaster and an execution host may differ, in ms. */
const CLOCKS_MS = 60_000;

/** Finds a job's records on a host: for the master and each PE task the most trusted record, of these the newest. */
export type RecordsOfPart = (
  part: { readonly job: number; readonly task: number | null; readonly host: string },
  startedAt: number | null,
) => readonly JobRecord[];

/**
 * Groups records of running jobs by job, task and host. A record that began before the job is from an earlier job or
 * run with the same number, and is left out.
 */
export function recordsByPart(records: readonly JobRecord[], nameOf: HostNames): RecordsOfPart {
  const byPart = new Map<string, JobRecord[]>();
  for (const record of records) {
    if (record.status !== 'running') continue;
    const key = keyOf(record.job_id, record.task_id, nameOf(record.host));
    const known = byPart.get(key);
    if (known === undefined) byPart.set(key, [record]);
    else known.push(record);
  }
  return ({ job, task, host }, startedAt) => {
    const best = new Map<string | null, JobRecord>();
    for (const record of byPart.get(keyOf(job, task, host)) ?? []) {
      const known = best.get(record.pe_task_id);
      if (isOfThisRun(record, startedAt) && (known === undefined || compareHeartbeats(known, record) < 0))
        best.set(record.pe_task_id, record);
    }
    return [...best.values()];
  };
}

const compareHeartbeats = (a: JobRecord, b: JobRecord): number =>
  compareTrust(a.trust, b.trust) || a.revision - b.revision;

/** Which records of a job must be there on a host for their sums to be complete. */
export interface Expected {
  readonly master: boolean;
  /** Number of slave tasks (`qrsh -inherit`) that Grid Engine knows there. */
  readonly tasks: number;
  /** Some tasks have ended already, so no running record holds their peaks. */
  readonly past: boolean;
}

/**
 * Combines the records of one job on one host. Their peaks need not coincide: the lower bound is the largest of theirs,
 * the upper bound their sum. If a record is missing, the sums are unknown.
 */
export function figuresOfPart(records: readonly JobRecord[], expected: Expected): OurFigures | null {
  if (records.length === 0) return null;
  const tasks = records.filter((record) => record.pe_task_id !== null).length;
  const complete = (!expected.master || tasks < records.length) && tasks >= expected.tasks;
  const figures = records.map((record): OurFigures => ({
    rss: lastRss(record),
    lower: record.peak_rss && figureOf(record.peak_rss),
    upper: record.peak_rss && measuredUpper(record.peak_rss),
    at: record.revision,
  }));
  const sum = together(figures, complete);
  return expected.past ? { ...sum, upper: null } : sum;
}

/** Combines the figures of a job's hosts; null: no host has any. */
export function figuresOfJob(parts: readonly (OurFigures | null)[]): OurFigures | null {
  const known = parts.filter((figures) => figures !== null);
  return known.length === 0 ? null : together(known, known.length === parts.length);
}

function together(figures: readonly OurFigures[], complete: boolean): OurFigures {
  return {
    rss: complete ? sumOfAll(figures.map(({ rss }) => rss)) : null,
    lower: largestOfKnown(figures.map(({ lower }) => lower)),
    upper: complete ? sumOfAll(figures.map(({ upper }) => upper)) : null,
    at: figures.reduce((oldest, { at }) => Math.min(oldest, at), Infinity),
  };
}

function lastRss({ series }: JobRecord): number | null {
  const last = series?.rss_bytes.at(-1);
  return last !== undefined && Number.isFinite(last) && last >= 0 ? last : null;
}

function isOfThisRun(record: JobRecord, startedAt: number | null): boolean {
  const began = record.started_at === null ? NaN : Date.parse(record.started_at);
  const latest = Number.isNaN(began) ? record.revision : began;
  return startedAt === null || latest >= startedAt - CLOCKS_MS;
}

function keyOf(job: number, task: number | null, host: string): string {
  return `${job}.${task ?? ''}@${host}`;
}
