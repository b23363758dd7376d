import { FULL_SHARE, jobsAtRisk, jobsToWarnOf } from '../../src/live/at-risk';
import { groupBy } from '../../src/base/group-by';
import { formatDuration } from '../../src/report/format/units';
import type { Bench, BenchOptions, Section } from './bench';
import { courseUnder, madeCourses, type MemoryCourse } from './memory-courses';
import { recordedCourses } from './recorded-courses';
import { replayCourse, type Warnings, type Watch } from './risk-replay';
import { median, quantile, sum } from './statistics';

/**
 * How good the warning "runs out of memory soon" is: jobs are played, heartbeat by heartbeat, to the functions behind
 * the mails and `live --at-risk`. Jobs that ended for lack of memory are those that should have been warned of.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SCREEN: Watch = (view, nowMs) => jobsAtRisk(view, { withinMs: DAY_MS, nowMs, share: FULL_SHARE });
/** Limits that a recorded job might have had, as shares of its peak. */
const ASSUMED_SHARES = [0.5, 0.7, 0.9, 1.1, 1.4] as const;

interface Played {
  readonly course: MemoryCourse;
  readonly warned: Warnings;
}

const EITHER = ({ full, trend }: Warnings): number | null =>
  full === null || trend === null ? (full ?? trend) : Math.min(full, trend);

const share = (part: number, of: number): string => (of === 0 ? '-' : `${((100 * part) / of).toFixed(1)} %`);

const HEAD = ['', 'jobs', 'overran', 'warned', 'precision', 'recall', 'lead, median', '10 %', 'false in 1,000 h'];

function lineOf(name: string, played: readonly Played[], when: (warned: Warnings) => number | null): readonly string[] {
  const warned = played.filter((one) => when(one.warned) !== null);
  const right = warned.filter(({ course }) => course.overran);
  const overran = played.filter(({ course }) => course.overran).length;
  const leads = right.map(({ course, warned: at }) => (course.endMs - (when(at) ?? 0)) / 1000);
  const hours = sum(played.map(({ course }) => course.endMs)) / HOUR_MS;
  const lead = (value: number): string => (leads.length === 0 ? '-' : formatDuration(Math.round(value)));
  return [
    name,
    String(played.length),
    String(overran),
    String(warned.length),
    share(right.length, warned.length),
    share(right.length, overran),
    lead(median(leads)),
    lead(quantile(leads, 0.1)),
    hours === 0 ? '-' : ((1000 * (warned.length - right.length)) / hours).toFixed(1),
  ];
}

function section(title: string, courses: readonly MemoryCourse[], watch: Watch): Section {
  const played = courses.map((course): Played => ({ course, warned: replayCourse(course, watch) }));
  const shapes = [...groupBy(played, ({ course }) => course.shape)];
  return {
    title,
    rows: [],
    table: [
      HEAD,
      ...shapes.map(([shape, some]) => lineOf(shape, some, EITHER)),
      lineOf('all', played, EITHER),
      lineOf('all, because it grows', played, ({ trend }) => trend),
      lineOf(`all, because ${100 * FULL_SHARE} % of the limit is in use`, played, ({ full }) => full),
    ],
  };
}

const NOTES = [
  'Overran: needed more than its limit. Precision: of the jobs warned of, those that overran; recall: of those that overran,',
  'the ones warned of before. Lead: from the first warning to the end. False: warned of, and ended without overrunning.',
];

async function recorded(path: string): Promise<readonly Section[]> {
  const courses = await recordedCourses(path);
  if (courses.length === 0) throw new Error(`${path} has no finished job with its memory over time`);
  const assumed = courses.flatMap((course) => {
    const most = course.samples.reduce((highest, { bytes }) => Math.max(highest, bytes), 0);
    if (course.overran || most === 0) return [];
    return ASSUMED_SHARES.map((of) =>
      courseUnder(of * most, { ...course, shape: `${Math.round(100 * of)} % of its peak` }),
    );
  });
  const withLimit = courses.filter(({ limit }) => Number.isFinite(limit));
  return [
    section(`At risk by mail, jobs recorded in ${path}`, withLimit, jobsToWarnOf),
    { ...section('The same jobs, had their limit been', assumed, jobsToWarnOf), notes: NOTES },
  ];
}

export const atRiskBench: Bench = {
  name: 'at-risk',
  about: 'warnings of jobs that run out of memory: precision, recall, lead time (--db PATH: over recorded jobs)',
  async run({ db, jobs, quick }: BenchOptions): Promise<readonly Section[]> {
    if (db !== null) return recorded(db);
    const courses = madeCourses(Math.ceil((jobs ?? (quick ? 240 : 1200)) / 12));
    const made = 'synthetic jobs, as many of each shape';
    return [
      section(`At risk by mail, ${made}`, courses, jobsToWarnOf),
      { ...section(`live --at-risk, ${made}`, courses, SCREEN), notes: NOTES },
    ];
  },
};
