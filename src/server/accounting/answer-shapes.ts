import {
  boolean,
  constant,
  described,
  fail,
  integer,
  list,
  map,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  refined,
  string,
  type Schema,
  type Shape,
  type ValueOf,
} from '../../base/shape';
import type { Cell } from '../../accounting/cell-codec';
import type { JobAttempt } from '../../accounting/store';
import {
  DIMENSIONS,
  type HourOfDay,
  type SummaryAnswer,
  type SummaryGroup,
  type SummaryQuery,
} from '../../accounting/summary';
import { COVERAGE_REASONS, type CoverageReason } from '../../record/coverage';
import { DERIVED_HELP } from '../../record/efficiency';
import {
  bracket,
  FIELD_NAMES,
  FIELDS,
  REQUEST,
  grantedSlots,
  gridEngineAccount,
  memoryRequest,
  memorySeries,
  samplerCost,
  TRUSTS,
} from '../../record/fields';
import { MERGED_FIELDS, METRIC_PREFIX, REQUEST_PREFIX, type Stamp, type StoredRecord } from '../../record/merge';
import { nodeHeartbeatShape } from '../../record/node-status';
import { RECORD_SCHEMA, recordShape } from '../../record/record';
import type { EnforcedRequest } from '../../record/request';
import { ENFORCERS } from '../../gridengine/memory-complex';
import { totalsShape } from '../../record/totals';
import { ADVICE_KINDS } from '../../report/advice/advice';
import type { NextRequest } from '../../report/advice/next-request';
import { classesShape, findingShape } from '../../report/rules/judge';
import { causeShape, explanationShape } from '../../report/why/causes';
import { courseShape } from '../../report/series/course';

/**
 * Shapes of the server's answers from the accounting DB. The OpenAPI description and the checks of our own client are
 * made from them.
 */

/** At most this many records in one answer: about 20 MB of JSON. */
export const MOST_RECORDS = 10_000;
/** At most this many groups in one answer: about 6 MB. */
export const MOST_GROUPS = 10_000;

/** What a summary can be grouped by. */
export const SUMMARY_KEYS = [...DIMENSIONS, 'day', 'cluster'] as const satisfies readonly SummaryQuery['by'][];

const parts: Record<string, Schema> = {};

/** The shape, listed under a name of its own in the OpenAPI description. */
function part<T>(name: string, shape: Shape<T>): Shape<T> {
  parts[name] = shape.schema;
  return named(shape, name);
}

/** Parts of the answers by their names under OpenAPI's `components`; `record/fields.ts` names the parts of a record. */
export const ANSWER_PARTS: Readonly<Record<string, Schema>> = parts;
for (const [name, { schema }] of Object.entries({
  Bracket: bracket,
  MemoryRequest: memoryRequest,
  GrantedSlots: grantedSlots,
  SamplerCost: samplerCost,
  GridEngineAccount: gridEngineAccount,
  MemorySeries: memorySeries,
}))
  parts[name] = schema;

function exactly<T>(item: Shape<T>, wanted: number): Shape<readonly T[]> {
  return refined(list(item), (items) => (items.length === wanted ? items : fail(`has not ${wanted} items`)));
}

const count = integer(0);
const schema = constant(RECORD_SCHEMA);
const totals = part('Totals', totalsShape);
const shown = described(
  oneOf(['all', 'anonymous', 'project', 'own']),
  "what the caller is shown of others' jobs: all, without owners and names, those of the caller's projects, or none; sums are over what is shown",
);

const stamp: Shape<Stamp> = part('Stamp', object({ trust: oneOf(TRUSTS), revision: count, ended: boolean }));
const MERGED = {
  ended: described(boolean, 'whether the job had ended when this record was made'),
  provenance: {
    ...map(stamp),
    schema: {
      ...map(stamp).schema,
      description: `where a field came from, unless it is from the record's own trust and revision; also "status", "${REQUEST_PREFIX}COMPLEX" and "${METRIC_PREFIX}NAME"`,
      propertyNames: {
        pattern: `^(?:${['status', ...MERGED_FIELDS].join('|')}|(?:${REQUEST_PREFIX}|${METRIC_PREFIX}).+)$`,
      },
    },
  },
};
const merged = object(MERGED);

const request: Shape<EnforcedRequest> = part(
  'RecordRequest',
  object({ complex: string, ...REQUEST, enforced_by: list(oneOf(ENFORCERS)) }),
);

const RECORD_MEMBERS: Readonly<Record<string, Shape<unknown>>> = {
  ...Object.fromEntries(
    FIELD_NAMES.map((field) => [field, described<unknown>(FIELDS[field].shape, FIELDS[field].help)]),
  ),
  request: described(nullable(request), DERIVED_HELP.request),
  cpu_efficiency: described(nullable(number()), DERIVED_HELP.cpu_efficiency),
  memory_efficiency: described(nullable(number()), DERIVED_HELP.memory_efficiency),
  queue_wait_seconds: described(nullable(number()), DERIVED_HELP.queue_wait_seconds),
  ...MERGED,
};

/** In JSON the record's fields stand beside the merge data (MERGED) and the figures derived from them. */
const record: Shape<StoredRecord> = part('Record', {
  read: (value) => ({ record: recordShape.read(value), ...merged.read(value) }),
  schema: object(RECORD_MEMBERS, "one job's account on one host (schema 1)").schema,
});

const nextRequest: Shape<NextRequest> = part(
  'NextRequest',
  object(
    {
      kind: oneOf(ADVICE_KINDS),
      complex: string,
      request_bytes: described(count, 'per slot, or per job if the complex is consumed so'),
      risk: described(
        nullable(number()),
        'share of runs that would need more; null: the advice rests on this run alone',
      ),
      runs: described(nullable(count), 'past runs of its kind that the advice rests on'),
    },
    'what memory to request for the next run',
  ),
);

part('Finding', findingShape);
const classes = part('Classes', classesShape);

const ATTEMPT = { attempt: integer(1), attempts: integer(1), incarnation: integer(1) };
const attemptOf = object(ATTEMPT);
const advised = object({ next_time: nullable(nextRequest) });
const attempt: Shape<JobAttempt & ValueOf<typeof advised>> = part('Attempt', {
  read: (value) => ({ ...record.read(value), ...attemptOf.read(value), ...advised.read(value) }),
  schema: object(
    { ...RECORD_MEMBERS, ...ATTEMPT, next_time: nullable(nextRequest), classes },
    'a record, which of its starts it is, of how many, of which job that had this number, and what to request next',
  ).schema,
});

part('Explanation', explanationShape);
const cause = part('Cause', causeShape);

export const jobAnswer = part(
  'Job',
  object({
    schema,
    records: list(attempt),
    causes: list(cause),
    more_causes: described(boolean, 'whether more runs ended badly than are explained'),
    older_incarnations: count,
    newer_incarnations: count,
  }),
);

export const arrayAnswer = part(
  'Array',
  object({
    schema,
    tasks: count,
    reruns: described(count, 'earlier runs of tasks; everything else is about the latest run of each task'),
    peaks: described(
      list(count),
      'lower bounds of the peak_rss of the tasks in bytes, lowest first; of many tasks 500, evenly chosen',
    ),
    limit_bytes: described(nullable(count), 'the largest limit of any task'),
    course: described(nullable(courseShape), 'memory over time of 50 tasks, evenly chosen'),
    next_time: described(nullable(nextRequest), 'what to request so that every task fits'),
    line: described(nullable(string), 'what to request for tasks that ended badly: a qsub line'),
    closest: described(list(attempt), 'the 50 tasks that came closest to their limit'),
    ends: described(list(object({ label: string, tasks: count })), 'how the tasks ended, the most frequent first'),
    causes: described(
      list(object({ tasks: count, cause })),
      'the most frequent causes of bad ends, with one of the tasks, among the first 1,000 that ended badly',
    ),
    unexplained: described(count, 'tasks that ended badly and were not explained'),
  }),
);

const listed: Shape<StoredRecord> = part('ListedRecord', {
  ...record,
  schema: object(
    { ...RECORD_MEMBERS, next_time: optional(nullable(nextRequest)) },
    'a record; next_time, on request: what to request for the next run, null: nothing can be said',
  ).schema,
});

/** At most this many records in one answer with `next_time`: each kind of job costs a query. */
export const MOST_ADVISED = 1000;

export const recordsAnswer = part('Records', object({ schema, records: list(listed), totals, shown }));

/** Checked without copying: there can be millions of cells. */
const cells: Shape<readonly Cell[]> = {
  read: (value) => {
    const isCell = (cell: unknown): boolean => cell === null || typeof cell === 'number' || typeof cell === 'string';
    return Array.isArray(value) && value.every(isCell) ? (value as readonly Cell[]) : fail('is not a list of cells');
  },
  schema: { type: 'array', items: { type: ['number', 'string', 'null'] } },
};

/** The runs of an array's tasks, or some of them. */
export const tasksAnswer = part(
  'Tasks',
  object({
    schema,
    cluster: described(nullable(string), 'cluster of all runs; null: only some runs were asked for'),
    ids: described(list(integer()), "the accounting DB's id of each run"),
    columns: described(
      map(cells),
      'by the name of the column as in docs/sql.md, a cell for each run, or one for all of them',
    ),
    words: described(list(string), 'strings to which the columns named *_id point, by place'),
  }),
);

export const runningAnswer = part('Running', object({ schema, records: list(record) }));

export const nodesAnswer = part('Nodes', object({ schema, nodes: list(part('Node', nodeHeartbeatShape)) }));

const group: Shape<SummaryGroup> = part(
  'SummaryGroup',
  object({ key: nullable(string), totals }, 'the records of one owner, project ...; "key" null: records without one'),
);
const hour: Shape<HourOfDay> = part(
  'HourOfDay',
  object({ requested_gib_hours: number(), used_gib_hours: number(), slot_hours: number() }),
);
const coverage: Shape<SummaryAnswer['coverage']> = object(
  Object.fromEntries(COVERAGE_REASONS.map((reason) => [reason, count])) as Record<CoverageReason, typeof count>,
);

export const summaryAnswer = part(
  'Summary',
  object({
    schema,
    shown,
    by: oneOf(SUMMARY_KEYS),
    groups: list(group),
    more: described(boolean, 'whether there are more groups than are listed'),
    totals,
    hours: described(exactly(hour, 24), "the hours of the day, 0 to 23, in the server's time zone"),
    shares: described(exactly(count, 21), 'ended records by peak over limit: below 5 %, 10 %, ... 100 %, and above'),
    coverage,
    read: count,
  }),
);
