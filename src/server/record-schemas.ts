import { MERGED_FIELDS, METRIC_PREFIX, REQUEST_PREFIX, type Stamp } from '../accounting/merge';
import type { JobAttempt, Totals } from '../accounting/store';
import {
  DIMENSIONS,
  type HourOfDay,
  type SummaryAnswer,
  type SummaryGroup,
  type SummaryQuery,
} from '../accounting/summary';
import type { CauseAccount } from '../report/why/causes';
import { CAUSES, STANDINGS } from '../report/why/hypothesis';
import { CONFIDENCES } from '../report/why/why';
import { BRACKET_SOURCES, OPEN_REASONS, STATUSES, TRUSTS } from '../sampler/parse-record';
import { RECORD_SCHEMA } from '../sampler/record';
import type {
  Bracket,
  GrantedSlots,
  GridEngineAccount,
  JobRecord,
  MemoryRequest,
  MemorySeries,
  SamplerCost,
} from '../sampler/record';
import { bytes, component, flag, list, map, nullable, number, object, text, timestamp, whole, word } from './schema';
import type { Schema } from './schema';
import type { Sight } from './sight';

/** A record as the server gives it: the fields of schema 1, and beside them how it was put together. */
export type GivenRecord = JobRecord & Pick<JobAttempt, 'ended' | 'provenance'>;
export type GivenAttempt = GivenRecord & Pick<JobAttempt, 'attempt' | 'attempts' | 'incarnation'>;

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

const bracket = nullable(component('Bracket'));
const request = component('MemoryRequest');
const maybeText = nullable(text);
const maybeWhole = nullable(whole);
const maybeNumber = nullable(number);
const maybeTime = nullable(timestamp);

const recordFields: { readonly [Field in keyof GivenRecord]-?: Schema } = {
  cluster: text,
  job_id: whole,
  task_id: maybeWhole,
  pe_task_id: maybeText,
  host: text,
  run_id: text,
  owner: maybeText,
  job_name: maybeText,
  queue: maybeText,
  project: maybeText,
  pe: maybeText,
  account: maybeText,
  slots: maybeWhole,
  host_slots: maybeWhole,
  granted_hosts: nullable(list(component('GrantedSlots'))),
  submitted_at: maybeTime,
  started_at: maybeTime,
  ended_at: maybeTime,
  exit_status: maybeWhole,
  signal: maybeWhole,
  failed: maybeWhole,
  status: word(...STATUSES),
  trust: word(...TRUSTS),
  h_vmem: nullable(request),
  requests: map(request),
  peak_rss: bracket,
  peak_rss_swap: bracket,
  peak_vmem: bracket,
  peak_process_vmem: bracket,
  peak_footprint: bracket,
  wallclock_seconds: maybeNumber,
  cpu_seconds: maybeNumber,
  cpu_efficiency: maybeNumber,
  memory_efficiency: maybeNumber,
  processes: maybeWhole,
  max_processes: maybeWhole,
  max_threads: maybeWhole,
  read_bytes: maybeWhole,
  written_bytes: maybeWhole,
  read_chars: maybeWhole,
  written_chars: maybeWhole,
  claimed_by_tree_only: maybeWhole,
  claimed_by_group_only: maybeWhole,
  samples: maybeWhole,
  interval_seconds: maybeNumber,
  longest_gap_seconds: maybeNumber,
  unobserved_start_seconds: maybeNumber,
  rss_byte_seconds: maybeNumber,
  sampler: nullable(component('SamplerCost')),
  grid_engine: nullable(component('GridEngineAccount')),
  metrics: map(number),
  series: nullable(component('MemorySeries')),
  notes: list(text),
  revision: whole,
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
  Bracket: object<Bracket>(
    {
      lower_bytes: bytes,
      upper_bytes: nullable(bytes),
      slack_bytes: bytes,
      proved: flag,
      exact: flag,
      open: list(word(...OPEN_REASONS)),
      sources: list(word(...BRACKET_SOURCES)),
      at: maybeTime,
      command: maybeText,
    },
    'a peak as bounds with the truth between them; lower_bytes is the figure that is shown and compared with limits; upper_bytes null: open, for the reasons in "open"; with "limit" among the sources upper_bytes was not measured, it is only what a limit allowed',
  ),
  MemoryRequest: object<MemoryRequest>({
    request_bytes: nullable(bytes),
    limit_bytes: nullable(bytes),
    per: word('slot', 'job'),
  }),
  GrantedSlots: object<GrantedSlots>({ host: text, slots: whole }, 'what a parallel job was granted on a host'),
  SamplerCost: object<SamplerCost>({ cpu_seconds: number, max_rss_bytes: bytes, mode: word('full', 'small') }),
  GridEngineAccount: object<GridEngineAccount>(
    {
      wallclock_seconds: number,
      cpu_seconds: number,
      user_seconds: maybeNumber,
      system_seconds: maybeNumber,
      maxvmem_bytes: nullable(bytes),
      maxrss_bytes: nullable(bytes),
      mem_gib_seconds: maybeNumber,
      io_gib: maybeNumber,
      category: maybeText,
      deleted_by: maybeText,
      lines: whole,
    },
    "what Grid Engine's own accounting says, under its dialect's meaning",
  ),
  MemorySeries: object<MemorySeries>({ start: timestamp, step_seconds: number, rss_bytes: list(bytes) }),
  Stamp: object<Stamp>({ trust: word(...TRUSTS), revision: whole, ended: flag }),
  Record: object<GivenRecord>(recordFields, "one job's account on one host (schema 1)"),
  Attempt: object<GivenAttempt>(
    { ...recordFields, attempt: whole, attempts: whole, incarnation: whole },
    'a record, which of its starts it is, of how many, and of which job that had this number',
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
  Totals: object<Totals>({
    records: whole,
    jobs: whole,
    running: whole,
    requested_gib_hours: number,
    requested_with_used_gib_hours: number,
    requested_with_peak_gib_hours: number,
    used_gib_hours: number,
    peak_gib_hours: number,
    cpu_seconds: number,
    slot_seconds: number,
    limit_gib_hours: number,
    energy_joules: number,
    slot_seconds_with_energy: number,
    failed: whole,
    killed_by_memory: whole,
    unsampled: whole,
    above_request: whole,
    far_below: whole,
    without_limit: whole,
    without_peak: whole,
    without_used: whole,
  }),
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
