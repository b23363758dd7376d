import { matchesPattern } from '../base/pattern';
import { heldBytes } from '../record/cause';
import { countedAt } from '../record/facts';
import { endedBadly } from '../record/job-end';
import { isSampled } from '../record/coverage';
import { nameClass } from '../record/name-class';
import { shareOf } from '../record/peak-figure';
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

/** A pattern of ours (`*`, `?`) as a test. */
export const patternTest =
  (pattern: string) =>
  (name: string): boolean =>
    matchesPattern(name, pattern);

function hostTest(host: string): (name: string) => boolean {
  if (!isHostPattern(host)) return (name) => name === host;
  const tests = parsePatterns(host).map((pattern) => {
    const test = patternTest(pattern);
    return (name: string): boolean => test(name) || (!pattern.includes('.') && test(name.split('.', 1)[0] ?? ''));
  });
  return (name) => tests.some((test) => test(name));
}

/** A figure of a record from `least` to `most`, where either is asked for. */
function within(of: (record: JobRecord) => number | null, least = -Infinity, most = Infinity): Test | null {
  if (least === -Infinity && most === Infinity) return null;
  return (record) => {
    const value = of(record);
    return value !== null && value >= least && value <= most;
  };
}

const FIELDS = ['cluster', 'job_id', 'owner', 'project', 'queue', 'pe'] as const;

/**
 * What a filter asks of a record, as the stores ask it in SQL; `name`: that it counts under (of a task of a parallel job
 * its master's).
 */
export function recordTest(filter: RecordFilter): Test {
  const { since, until, host, job_name: asked, name_class: kind, states, failed, sampled } = filter;
  const onHost = host === undefined ? null : hostTest(host);
  const named = asked === undefined ? null : /[*?]/.test(asked) ? patternTest(asked) : (name: string) => name === asked;
  const tests: readonly (Test | null)[] = [
    (record) => {
      const at = countedAt(record);
      return at >= since && at < until;
    },
    ...FIELDS.map((field): Test | null => {
      const value = filter[field];
      return value === undefined ? null : (record) => record[field] === value;
    }),
    onHost && ((record) => onHost(record.host)),
    named && ((_record, name) => name !== null && named(name)),
    kind === undefined ? null : (_record, name) => name !== null && nameClass(name) === kind,
    states === undefined ? null : (record) => states.includes(record.status),
    failed === undefined ? null : (record) => endedBadly(record) === failed,
    sampled === undefined ? null : (record) => isSampled(record) === sampled,
    within(heldBytes, filter.peak_at_least, filter.peak_at_most),
    within(limitOf, filter.limit_at_least, filter.limit_at_most),
    within((record) => shareOf(heldBytes(record), limitOf(record)), filter.share_at_least, filter.share_at_most),
    within((record) => record.wallclock_seconds, filter.wallclock_at_least),
  ];
  const wanted = tests.filter((test) => test !== null);
  return (record, name) => wanted.every((test) => test(record, name));
}
