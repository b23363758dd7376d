import { STATUSES } from '../../record/fields';
import { JOB_SPAN_MS } from '../../record/facts';
import { isHostPattern, parsePatterns } from '../filter-record';
import type { RecordFilter } from '../store';
import { BOUNDS, FAILED, SAMPLED } from '../sums/fact-columns';
import type { Value } from './session';

/** Where a role reads records. */
export interface Source {
  /** The view. */
  readonly records: string;
  /** Whether the role sees everything, the dictionaries and roll-ups included. */
  readonly all: boolean;
}

/** What follows IN for a list of numbers that the parameter `$place` holds as JSON. */
export const numbersAt = (place: number): string =>
  `(SELECT n::bigint FROM jsonb_array_elements_text($${place}::text::jsonb) AS n)`;

export const NUMBERS = numbersAt(1);

/** The values of a statement's parameters, `$1` first. */
export class Parameters {
  readonly values: Value[] = [];

  put(value: Value): string {
    return `$${this.values.push(value)}`;
  }

  /** Adds a list of numbers; returns what follows IN. */
  putNumbers(numbers: Iterable<number>): string {
    return numbersAt(this.values.push(JSON.stringify([...numbers])));
  }
}

/** A pattern of filters (`*`, `?`) as a pattern of LIKE. */
function likeOf(pattern: string): string {
  return pattern
    .replace(/[\\%_]/g, '\\$&')
    .replaceAll('*', '%')
    .replaceAll('?', '_');
}

/** The condition that a host matches a list of patterns (`isHostPattern`). */
function hostIs(host: string, parameters: Parameters): string {
  const parts = parsePatterns(host).flatMap((pattern) => {
    const place = parameters.put(likeOf(pattern));
    return [`r.host LIKE ${place}`, ...(pattern.includes('.') ? [] : [`split_part(r.host, '.', 1) LIKE ${place}`])];
  });
  return `(${['false', ...parts].join(' OR ')})`;
}

/**
 * Records `m` of the job and task of `r` that are at most JOB_SPAN_MS away: from the table without its strings if the
 * role may read that, since each use of a view with all strings takes PostgreSQL half a millisecond to plan.
 */
export const sameJob = ({ records, all }: Source): string =>
  `FROM ${all ? 'qmemacct.record' : records} AS m WHERE m.job_id = r.job_id AND coalesce(m.task_id, 0) = coalesce(r.task_id, 0)
      AND m.cluster_id = r.cluster_id AND m.counted_at BETWEEN r.counted_at - ${JOB_SPAN_MS} AND r.counted_at + ${JOB_SPAN_MS}`;

/**
 * The name under which a record counts. On its host Grid Engine names each slave task "petask", so its record has no
 * name until its accounting line comes: it counts under its master's name. Of several masters (runs, or a job number
 * that was reused) the nearest in time counts.
 */
export function countedName(source: Source): string {
  const name = source.all ? '(SELECT d.name FROM qmemacct.job_name AS d WHERE d.id = m.job_name_id)' : 'm.job_name';
  return `coalesce(r.job_name, CASE WHEN r.pe_task_id IS NOT NULL THEN (SELECT ${name} AS named ${sameJob(source)}
      AND m.pe_task_id IS NULL AND m.owner_id IS NOT DISTINCT FROM r.owner_id AND m.job_name_id IS NOT NULL
    ORDER BY abs(m.counted_at - r.counted_at), named LIMIT 1) END)`;
}

/** As `nameClass`. */
const classOf = (name: string): string => `regexp_replace(${name}, '[0-9]+', '#', 'g')`;

/** A filter as a condition on `r`. */
export function conditionOf(filter: RecordFilter, source: Source, parameters: Parameters): string {
  const time = (ms: number): string => `${parameters.put(Math.ceil(ms))}::bigint`;
  const parts = [`r.counted_at >= ${time(filter.since)}`, `r.counted_at < ${time(filter.until)}`];
  for (const name of ['cluster', 'owner', 'project', 'queue', 'host', 'pe'] as const) {
    const text = filter[name];
    if (text === undefined) continue;
    if (name === 'host' && isHostPattern(text)) {
      parts.push(hostIs(text, parameters));
      continue;
    }
    const place = parameters.put(text);
    const id = `(SELECT d.id FROM qmemacct.${name} AS d WHERE md5(d.name) = md5(${place}) AND d.name = ${place})`;
    parts.push(source.all ? `r.${name}_id = ${id}` : `r.${name} = ${place}`);
  }
  if (filter.job_id !== undefined) parts.push(`r.job_id = ${parameters.put(filter.job_id)}::bigint`);
  const { job_name: job, name_class: kind, states } = filter;
  if (job !== undefined) {
    const isPattern = /[*?]/.test(job);
    parts.push(`${countedName(source)} ${isPattern ? 'LIKE' : '='} ${parameters.put(isPattern ? likeOf(job) : job)}`);
  }
  if (kind !== undefined) parts.push(`${classOf(countedName(source))} = ${parameters.put(kind)}`);
  if (states !== undefined) parts.push(`r.status IN (${[-1, ...states.map((s) => STATUSES.indexOf(s))].join(', ')})`);
  if (filter.failed !== undefined) parts.push(filter.failed ? FAILED : `NOT ${FAILED}`);
  if (filter.sampled !== undefined) parts.push(filter.sampled ? SAMPLED : `NOT ${SAMPLED}`);
  for (const [name, test] of BOUNDS) {
    const bound = filter[name];
    if (bound !== undefined) parts.push(`${test} ${parameters.put(bound)}::double precision`);
  }
  return parts.join(' AND ');
}
