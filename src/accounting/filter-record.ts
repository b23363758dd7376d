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

/** The parts of "alice,bob*", without blanks around them; empty parts are left out. */
export function parsePatterns(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/**
 * Whether the host of a filter may match several hosts: names and patterns (`*`, `?`), separated by commas. One without
 * a dot also matches the first label of a host: `ge*`, `node0?`, `node01,node02.cluster.example`.
 */
export function isHostPattern(host: string): boolean {
  return /[*?,]/.test(host);
}

type Test = (record: JobRecord, name: string | null) => boolean;

/** A filter's pattern (`*`, `?`) as a test. */
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

/** Tests that a figure of a record lies from `least` to `most`; null: neither is asked for. */
function within(of: (record: JobRecord) => number | null, least = -Infinity, most = Infinity): Test | null {
  if (least === -Infinity && most === Infinity) return null;
  return (record) => {
    const value = of(record);
    return value !== null && value >= least && value <= most;
  };
}

const FIELDS = ['cluster', 'job_id', 'owner', 'project', 'queue', 'pe'] as const;

/**
 * A filter as a test, equal to the stores' SQL; `name`: the job name that the record counts under (a slave task's is
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
