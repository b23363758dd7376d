import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { openReader } from '../../src/accounting/open-store';
import { FIELD_NAMES } from '../../src/record/fields';
import { recordOfJson, type JobRecord } from '../../src/record/record';
import { limitOf } from '../../src/record/request';
import { MEMORY_CAUSES } from '../../src/report/why/hypothesis';
import { whyEnded } from '../../src/report/why/why';
import { openNodeReader } from '../../src/sampler/node-store/node-reader';
import type { MemoryCourse } from './memory-courses';

const RSS = 'process_rss_bytes';
const MOST_JOBS = 10_000;
const FEWEST_SAMPLES = 10;

type Samples = MemoryCourse['samples'];

/** null: too few samples, no end, or other parts of the job also held memory on the host. */
function courseOf(record: JobRecord, samples: Samples): MemoryCourse | null {
  const { started_at, ended_at, status, slots, host_slots, pe_task_id } = record;
  const endMs = Date.parse(ended_at ?? '') - Date.parse(started_at ?? '');
  if (status !== 'finished' || pe_task_id !== null || slots !== host_slots || !(endMs > 0)) return null;
  if (samples.length < FEWEST_SAMPLES) return null;
  const limit = limitOf(record) ?? Infinity;
  const causes = whyEnded([record])?.causes ?? [];
  const overran = causes.some((cause) => MEMORY_CAUSES.has(cause)) || (record.peak_rss?.lower_bytes ?? 0) >= limit;
  const shape = overran ? 'ended by memory' : limit === Infinity ? 'without a limit' : 'others';
  return { shape, samples, limit, endMs, overran };
}

/** The steps of a record's series as samples; each step holds the largest of its samples. */
function stepsOf({ series, started_at }: JobRecord): Samples {
  if (series === null) return [];
  const since = Date.parse(series.start) - Date.parse(started_at ?? '');
  return series.rss_bytes.map((bytes, index) => ({
    at: Math.max(0, since) + (index + 1) * series.step_seconds * 1000,
    bytes,
  }));
}

function fromNode(directory: string): readonly MemoryCourse[] {
  const reader = openNodeReader(directory);
  try {
    return reader.runs(0, Date.now()).flatMap(({ run, record: json, started, changed }) => {
      const parsed = recordOfJson(json);
      if (!parsed.ok) return [];
      const since = Date.parse(parsed.value.started_at ?? '');
      const [rss] = reader.readSeries(run, [RSS], started, changed);
      const samples = rss?.at.map((at, index) => ({ at: Math.max(0, at - since), bytes: rss.values[index] ?? 0 }));
      return courseOf(parsed.value, samples ?? []) ?? [];
    });
  } finally {
    reader.close();
  }
}

async function fromStore(path: string): Promise<readonly MemoryCourse[]> {
  const reader = await openReader(path);
  const courses: MemoryCourse[] = [];
  try {
    const asked = { since: 0, until: Date.now(), states: ['finished'], sampled: true, fields: FIELD_NAMES } as const;
    for await (const { records } of reader.pages(asked)) {
      courses.push(...records.flatMap(({ record }) => courseOf(record, stepsOf(record)) ?? []));
      if (courses.length >= MOST_JOBS) break;
    }
  } finally {
    await reader.close();
  }
  return courses;
}

/**
 * The jobs of a node.db (every sample) or of an accounting DB (at most 120 steps of each job, the newest 10,000 jobs).
 * Rejects with StoreError or an error of SQLite.
 */
export async function recordedCourses(path: string): Promise<readonly MemoryCourse[]> {
  const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (basename(path) === 'node.db') return fromNode(dirname(path));
  return isDirectory ? fromNode(path) : await fromStore(path);
}
