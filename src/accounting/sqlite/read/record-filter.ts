import { JOB_SPAN_MS } from '../../../record/facts';
import { STATUSES } from '../../../record/fields';
import { isHostPattern, parsePatterns } from '../../filter-record';
import type { RecordFilter } from '../../store';
import { BOUNDS, FAILED, SAMPLED } from '../../sums/fact-columns';
import { dictionaryOf, groupKey } from '../../sums/grouping-sets';
import type { Dimension } from '../../summary';
import type { Words } from '../database/dictionary';
import { NAME_CLASS } from '../database/open';

/** A condition on `record r`, with its values as parameters. */
export interface Condition {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, number | string>>;
  /** Whether sums count self-reported records, too. */
  readonly selfReported: boolean;
  readonly cluster: number | null;
  /** The index by which the records are found, in the order of time. */
  readonly index: 'record_by_job' | 'record_by_owner' | 'record_by_time';
  /** A key for which the roll-ups tell on which days there may be such records; null: none. */
  readonly sparse: RolledKey | null;
  /** For jobs of a name or pattern: the roll-ups know the name classes that match, and their days. */
  readonly kind: NamedKind | null;
}

interface RolledKey {
  readonly name: Dimension;
  readonly id: number;
}

export interface NamedKind {
  /** null: any owner. */
  readonly owner: string | null;
  /** A GLOB pattern that the name class matches; several digits, for which `?` may stand, are one `#` there. */
  readonly glob: string;
}

/** `id` -1: no roll-up has the key, so only days without roll-ups may have such records. */
const rolledKey = (words: Words, name: Dimension, text: string): RolledKey => ({
  name,
  id: words.find(dictionaryOf(name), groupKey(name, text)) ?? -1,
});

export const EVERY_RECORD: Condition = {
  sql: '',
  parameters: {},
  selfReported: false,
  cluster: null,
  index: 'record_by_time',
  sparse: null,
  kind: null,
};

/** SQLite's GLOB knows sets in brackets, which filters' patterns do not, and ends at a NUL, which no name contains. */
function globOf(pattern: string): string {
  return pattern.replaceAll('[', '[[]').replaceAll('\0', '\uFFFD');
}

/** The name classes that a filter's jobs can have; null: any. */
function kindOf({ owner: whose, job_name: name, name_class: kind }: RecordFilter): NamedKind | null {
  const owner = whose ?? null;
  // Brackets make the special characters of a pattern literal.
  if (kind !== undefined) return { owner, glob: kind.replace(/[[*?]/g, '[$&]') };
  return name === undefined ? null : { owner, glob: globOf(name.replace(/[\d?]+/g, '*')) };
}

/** The host matches a list of patterns (`isHostPattern`). */
const HOST_PATTERNS = `r.host_id IN (SELECT h.id FROM host h, json_each(@hosts) AS p WHERE h.name GLOB p.value
  OR instr(p.value, '.') = 0 AND substr(h.name, 1, instr(h.name || '.', '.') - 1) GLOB p.value)`;

/** Records `m` of the job and task of `r` that are at most JOB_SPAN_MS away. */
export const SAME_JOB = `FROM record m INDEXED BY record_by_job
      WHERE m.job_id = r.job_id AND m.task_id IS r.task_id AND m.cluster_id = r.cluster_id
      AND m.counted_at BETWEEN r.counted_at - ${JOB_SPAN_MS} AND r.counted_at + ${JOB_SPAN_MS}`;

/**
 * The number of the name under which a record counts. On its host Grid Engine names each slave task "petask", so its
 * record has no name until its accounting line comes: it counts under its master's name. Of several masters (runs, or a
 * job number that was reused) the nearest in time counts.
 */
export const JOB_NAME_ID = `coalesce(r.job_name_id, CASE WHEN r.pe_task_id IS NOT NULL THEN (
      SELECT m.job_name_id ${SAME_JOB} AND m.pe_task_id IS NULL AND m.owner_id IS r.owner_id AND m.job_name_id IS NOT NULL
      ORDER BY abs(m.counted_at - r.counted_at), (SELECT name FROM job_name WHERE id = m.job_name_id) LIMIT 1) END)`;

const NAMED_LIKE = `${JOB_NAME_ID} IN (SELECT n.id FROM job_name n WHERE n.name GLOB @job_name)`;
/** The same for one owner's records, which have few of the millions of names that a store may have. */
const OWN_NAMED_LIKE = `(SELECT n.name FROM job_name n WHERE n.id = ${JOB_NAME_ID}) GLOB @job_name`;

const OF_CLASS = `${NAME_CLASS}((SELECT n.name FROM job_name n WHERE n.id = ${JOB_NAME_ID})) = @name_class`;

const WORDS = ['cluster', 'owner', 'project', 'queue', 'host', 'pe'] as const;

/** A filter as a condition, apart from the time; null: the store does not know a word in it, so nothing can match. */
export function conditionOf(filter: RecordFilter, words: Words): Condition | null {
  const parts: string[] = [];
  const parameters: Record<string, number | string> = {};
  let cluster: number | null = null;
  let sparse: RolledKey | null = null;
  const put = (sql: string, name: string, value: number | string | undefined): void => {
    if (value === undefined) return;
    parts.push(sql);
    parameters[name] = value;
  };
  for (const name of WORDS) {
    const text = filter[name];
    if (text === undefined) continue;
    if (name === 'host' && isHostPattern(text)) {
      put(HOST_PATTERNS, 'hosts', JSON.stringify(parsePatterns(text).map(globOf)));
      continue;
    }
    const id = words.find(name, text);
    if (id === null) return null;
    put(`r.${name}_id = @${name}_id`, `${name}_id`, id);
    if (name === 'cluster') cluster = id;
    else if (name !== 'owner' && name !== 'pe') sparse = rolledKey(words, name, text);
  }
  put('r.job_id = @job_id', 'job_id', filter.job_id);
  if (filter.job_name !== undefined)
    if (/[*?]/.test(filter.job_name))
      put(filter.owner === undefined ? NAMED_LIKE : OWN_NAMED_LIKE, 'job_name', globOf(filter.job_name));
    else {
      const id = words.find('job_name', filter.job_name);
      if (id === null) return null;
      put(`${JOB_NAME_ID} = @job_name_id`, 'job_name_id', id);
      sparse ??= rolledKey(words, 'job_name', filter.job_name);
    }
  if (filter.name_class !== undefined) {
    put(OF_CLASS, 'name_class', filter.name_class);
    sparse ??= rolledKey(words, 'job_name', filter.name_class);
  }
  if (filter.states !== undefined) {
    const names = filter.states.map((_state, index) => `@state${index}`);
    parts.push(`r.status IN (${names.join(', ')})`);
    filter.states.forEach((state, index) => (parameters[`state${index}`] = STATUSES.indexOf(state)));
  }
  if (filter.failed !== undefined) parts.push(filter.failed ? FAILED : `NOT ${FAILED}`);
  if (filter.sampled !== undefined) parts.push(filter.sampled ? SAMPLED : `NOT ${SAMPLED}`);
  for (const [name, test] of BOUNDS) put(`${test} @${name}`, name, filter[name]);
  return {
    sql: parts.map((part) => ` AND ${part}`).join(''),
    parameters,
    selfReported: filter.self_reported === true,
    cluster,
    index:
      filter.job_id !== undefined ? 'record_by_job' : filter.owner !== undefined ? 'record_by_owner' : 'record_by_time',
    sparse,
    kind: kindOf(filter),
  };
}
