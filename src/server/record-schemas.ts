import type { Totals } from '../record/totals';
import { EFFICIENCY_HELP, type Efficiencies } from '../record/efficiency';
import { MERGED_FIELDS, METRIC_PREFIX, REQUEST_PREFIX, type Stamp } from '../record/merge';
import type { JobAttempt } from '../accounting/store';
import {
  DIMENSIONS,
  type HourOfDay,
  type SummaryAnswer,
  type SummaryGroup,
  type SummaryQuery,
} from '../accounting/summary';
import { ADVICE_KINDS } from '../report/advice/advice';
import type { NextRequest } from '../report/advice/next-request';
import type { CauseAccount } from '../report/why/causes';
import { CAUSES, STANDINGS } from '../report/why/hypothesis';
import { CONFIDENCES } from '../report/why/why';
import {
  bracket,
  FIELD_NAMES,
  FIELDS,
  grantedSlots,
  gridEngineAccount,
  memoryRequest,
  memorySeries,
  samplerCost,
  TRUSTS,
  type FieldName,
} from '../record/fields';
import { RECORD_SCHEMA, type JobRecord } from '../record/record';
import { totalsShape } from '../record/totals';
import { component, flag, list, map, nullable, number, object, text, whole, word } from './schema';
import type { Schema } from './schema';
import type { Sight } from './sight';

/** A record as the server gives it: the fields of schema 1, and beside them how it was put together. */
export type GivenRecord = JobRecord & Efficiencies & Pick<JobAttempt, 'ended' | 'provenance'>;
export type GivenAttempt = GivenRecord &
  Pick<JobAttempt, 'attempt' | 'attempts' | 'incarnation'> & { readonly next_time: NextRequest | null };

export interface GivenJob {
  readonly schema: typeof RECORD_SCHEMA;
  readonly records: readonly GivenAttempt[];
  /** Why runs ended badly, as far as that can be told from what the caller is shown. */
  readonly causes: readonly CauseAccount[];
  /** Whether there are more than are told. */
  readonly more_causes: boolean;
  readonly older_incarnations: number;
  readonly newer_incarnations: number;
}

/** What was heard of running jobs. */
export interface GivenRunning {
  readonly schema: typeof RECORD_SCHEMA;
  readonly records: readonly GivenRecord[];
}

export interface GivenRecords {
  readonly schema: typeof RECORD_SCHEMA;
  readonly records: readonly GivenRecord[];
  readonly totals: Totals;
  readonly shown: Sight['of'];
}

export interface GivenSummary extends Omit<SummaryAnswer, 'shown'> {
  readonly shown: Sight['of'];
  readonly schema: typeof RECORD_SCHEMA;
  readonly by: SummaryQuery['by'];
  /** Whether there are more groups than are told. */
  readonly more: boolean;
}

/** What a summary can be grouped by. */
export const SUMMARY_KEYS = [...DIMENSIONS, 'day', 'cluster'] as const satisfies readonly SummaryQuery['by'][];

const shown = {
  ...word('all', 'anonymous', 'project', 'own'),
  description:
    "what the caller is shown of others' jobs: all, without owners and names, those of the caller's projects, or none; sums are over what is shown",
};

const maybeText = nullable(text);
const maybeWhole = nullable(whole);

const recordFields = {
  ...(Object.fromEntries(
    FIELD_NAMES.map((field) => [field, { ...FIELDS[field].shape.schema, description: FIELDS[field].help }]),
  ) as unknown as Readonly<Record<FieldName, Schema>>),
  cpu_efficiency: { ...nullable(number), description: EFFICIENCY_HELP.cpu_efficiency },
  memory_efficiency: { ...nullable(number), description: EFFICIENCY_HELP.memory_efficiency },
  ended: { ...flag, description: 'whether the job had ended when this record was made' },
  provenance: {
    ...map(component('Stamp')),
    description: `where a field came from, unless it is from the record's own trust and revision; also "status", "${REQUEST_PREFIX}COMPLEX" and "${METRIC_PREFIX}NAME"`,
    propertyNames: {
      pattern: `^(?:${['status', ...MERGED_FIELDS].join('|')}|(?:${REQUEST_PREFIX}|${METRIC_PREFIX}).+)$`,
    },
  },
};

/** The parts of what the accounting DB answers, by their names under `components`. */
export const RECORD_SCHEMAS: Readonly<Record<string, Schema>> = {
  Bracket: bracket.schema,
  MemoryRequest: memoryRequest.schema,
  GrantedSlots: grantedSlots.schema,
  SamplerCost: samplerCost.schema,
  GridEngineAccount: gridEngineAccount.schema,
  MemorySeries: memorySeries.schema,
  Stamp: object<Stamp>({ trust: word(...TRUSTS), revision: whole, ended: flag }),
  Record: object<GivenRecord>(recordFields, "one job's account on one host (schema 1)"),
  Attempt: object<GivenAttempt>(
    {
      ...recordFields,
      attempt: whole,
      attempts: whole,
      incarnation: whole,
      next_time: nullable(component('NextRequest')),
    },
    'a record, which of its starts it is, of how many, of which job that had this number, and what to request next',
  ),
  NextRequest: object<NextRequest>(
    {
      kind: word(...ADVICE_KINDS),
      complex: text,
      request_bytes: { ...number, description: 'per slot, or per job where the complex is so consumed' },
      risk: nullable({
        ...number,
        description: 'share of runs that would need more; null: it rests on this run alone',
      }),
      runs: nullable({ ...whole, description: 'past runs of its kind that it rests on' }),
    },
    'what memory to request for the next run; null: nothing can be said',
  ),
  Job: object<GivenJob>({
    schema: { const: RECORD_SCHEMA },
    records: list(component('Attempt')),
    causes: list(component('Cause')),
    more_causes: { ...flag, description: 'whether more runs ended badly than are explained' },
    older_incarnations: whole,
    newer_incarnations: whole,
  }),
  Explanation: object<CauseAccount['explanations'][number]>(
    { cause: word(...CAUSES), standing: word(...STANDINGS), name: text, evidence: text, would_tell: maybeText },
    'one thing that such an end can come of, held against what is known',
  ),
  Cause: object<CauseAccount>(
    {
      cluster: text,
      job_id: whole,
      task_id: maybeWhole,
      attempt: whole,
      confidence: word(...CONFIDENCES),
      causes: { ...list(word(...CAUSES)), description: 'what fits best; none where the evidence does not suffice' },
      sentence: text,
      explanations: list(component('Explanation')),
      next_time: { ...maybeText, description: 'what to ask for next time: a qsub line; null: nothing can be said' },
    },
    'why one run of a job (array task) ended badly, told from what the caller is shown',
  ),
  Totals: totalsShape.schema,
  Running: object<GivenRunning>({ schema: { const: RECORD_SCHEMA }, records: list(component('Record')) }),
  SummaryGroup: object<SummaryGroup>(
    { key: maybeText, totals: component('Totals') },
    'the records of one owner, project ..., "key" null: those that have none',
  ),
  HourOfDay: object<HourOfDay>({ requested_gib_hours: number, used_gib_hours: number, slot_hours: number }),
  Summary: object<GivenSummary>({
    schema: { const: RECORD_SCHEMA },
    shown,
    by: word(...SUMMARY_KEYS),
    groups: list(component('SummaryGroup')),
    more: { ...flag, description: 'whether there are more groups than are told' },
    totals: component('Totals'),
    hours: { ...list(component('HourOfDay')), description: "the hours of the day, 0 to 23, in the server's time zone" },
    shares: {
      ...list(whole),
      description: 'ended records by peak over limit: below 5 %, 10 %, ... 100 %, and above',
    },
    coverage: object<SummaryAnswer['coverage']>({
      sampled: whole,
      'no-hooks': whole,
      'never-started': whole,
      limits: whole,
      unprivileged: whole,
      'sampler-lost': whole,
      other: whole,
    }),
    read: whole,
  }),
  Records: object<GivenRecords>({
    schema: { const: RECORD_SCHEMA },
    records: list(component('Record')),
    totals: component('Totals'),
    shown,
  }),
};
