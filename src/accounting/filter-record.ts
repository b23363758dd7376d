import { countedAt } from '../record/facts';
import { endedBadly } from '../record/job-end';
import { isSampled } from '../record/coverage';
import { figureOf } from '../record/peak-figure';
import type { JobRecord } from '../record/record';
import { limitOf } from '../record/request';
import type { RecordFilter } from './store';

/** "alice,bob*" as its parts, without blanks around them and without empty ones. */
export function parsePatterns(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/**
 * Whether the host of a filter may be several: names and patterns (`*`, `?`) with commas between them. One without a dot
 * also means hosts whose first label it matches: `ge*`, `node0?`, `node01,node02.cluster.example`.
 */
export function isHostPattern(host: string): boolean {
  return /[*?,]/.test(host);
}

type Test = (record: JobRecord, name: string | null) => boolean;

/** A pattern of ours (`*`, `?`) as a test, a regular expression over the whole name. */
export function patternTest(pattern: string): (name: string) => boolean {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  const expression = new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'su');
  return (name) => expression.test(name);
}

function hostTest(host: string): (name: string) => boolean {
  if (!isHostPattern(host)) return (name) => name === host;
  const tests = parsePatterns(host).map((pattern) => {
    const test = patternTest(pattern);
    return (name: string): boolean => test(name) || (!pattern.includes('.') && test(name.split('.', 1)[0] ?? ''));
  });
  return (name) => tests.some((test) => test(name));
}

const within = (value: number | null, least: number | undefined, most?: number): boolean =>
  (least === undefined || (value !== null && value >= least)) &&
  (most === undefined || (value !== null && value <= most));

/**
 * What a filter asks of a record, as the stores ask it in SQL; `name`: that it counts under (of a task of a parallel job
 * its master's).
 */
export function recordTest(filter: RecordFilter): Test {
  const { job_name: asked } = filter;
  const onHost = filter.host === undefined ? null : hostTest(filter.host);
  const named = asked === undefined ? null : /[*?]/.test(asked) ? patternTest(asked) : (name: string) => name === asked;
  return (record, name) => {
    const at = countedAt(record);
    const peak = record.peak_rss === null ? null : figureOf(record.peak_rss);
    const limit = limitOf(record);
    const share = peak === null || limit === null || limit === 0 ? null : peak / limit;
    return (
      at >= filter.since &&
      at < filter.until &&
      (['cluster', 'job_id', 'owner', 'project', 'queue', 'pe'] as const).every(
        (field) => filter[field] === undefined || record[field] === filter[field],
      ) &&
      (onHost === null || onHost(record.host)) &&
      (named === null || (name !== null && named(name))) &&
      (filter.states?.includes(record.status) ?? true) &&
      (filter.failed === undefined || filter.failed === endedBadly(record)) &&
      (filter.sampled === undefined || filter.sampled === isSampled(record)) &&
      within(peak, filter.peak_at_least, filter.peak_at_most) &&
      within(limit, filter.limit_at_least, filter.limit_at_most) &&
      within(share, filter.share_at_least, filter.share_at_most) &&
      within(record.wallclock_seconds, filter.wallclock_at_least)
    );
  };
}
