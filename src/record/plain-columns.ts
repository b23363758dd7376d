import { cpuEfficiency, DERIVED_HELP, memoryEfficiency, queueWait } from './efficiency';
import { BRACKET, FIELD_NAMES, FIELDS, REQUEST, type Field, type FieldName, type Leaf, type Storage } from './fields';
import type { JobRecord } from './record';
import { requestOf } from './request';

/** The record as plain columns, made from the table of fields: what CSV has, what is exported, what views show. */

export type ColumnType = 'integer' | 'real' | 'text' | 'boolean' | 'time' | 'json';

export interface ColumnFacts {
  readonly name: string;
  /** `time`: ISO 8601, UTC. `json`: an object or a list. */
  readonly type: ColumnType;
  /** null: a count, a name or a time, which have no unit. */
  readonly unit: string | null;
  readonly help: string;
}

/** What a column holds; an object or a list only where its type is `json`. */
export type PlainValue = string | number | boolean | object | null;

/** A cell in a table of many rows: a time is in ms since the epoch, an object or a list is JSON. */
export type TableValue = string | number | boolean | null;
/** One column of such a table: a cell for each row. */
export type TableColumn = readonly TableValue[];

export interface PlainColumn extends ColumnFacts {
  /** The fields that its value is made from. */
  readonly fields: readonly FieldName[];
  /** The member that it shows of its only field, which is an object. */
  readonly member?: string;
  readonly value: (record: JobRecord) => PlainValue;
}

const TYPES: Readonly<Record<Storage['as'], ColumnType>> = {
  integer: 'integer',
  real: 'real',
  seconds: 'real',
  time: 'time',
  text: 'text',
  json: 'json',
  choice: 'text',
  word: 'text',
};

function unitOf(storage: Storage): string | null {
  if (storage.as === 'seconds') return 'seconds';
  return storage.as === 'integer' || storage.as === 'real' ? (storage.unit ?? null) : null;
}

const leafFacts = (storage: Storage): Pick<ColumnFacts, 'type' | 'unit'> => ({
  type: TYPES[storage.as],
  unit: unitOf(storage),
});

/** A value as one cell: the words of a list are joined; null for anything else that is not plain. */
export const flat = (value: unknown): TableValue => {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.join(' ') : null;
};

function memberColumns(
  field: FieldName,
  prefix: string,
  members: Readonly<Record<string, Partial<Leaf<unknown>>>>,
): readonly PlainColumn[] {
  return Object.entries(members).map(([member, { storage, help, schema }]) => ({
    name: `${prefix}_${member}`,
    ...(storage === undefined
      ? { type: schema?.type === 'boolean' ? ('boolean' as const) : ('text' as const), unit: null }
      : leafFacts(storage)),
    help: help === undefined ? FIELDS[field].help : `${FIELDS[field].help}: ${help}`,
    fields: [field],
    member,
    value: (record) => {
      const value = record[field] as Readonly<Record<string, unknown>> | null;
      return value === null ? null : flat(value[member]);
    },
  }));
}

/** Whether the value is an empty list or map. */
export const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** The column of a field that is a list or a map: its value as a whole; null: empty. */
function jsonColumn(name: FieldName): PlainColumn {
  return {
    name,
    type: 'json',
    unit: null,
    help: FIELDS[name].help,
    fields: [name],
    value: (record) => {
      const value = record[name];
      return typeof value === 'object' && value !== null && !isEmpty(value) ? value : null;
    },
  };
}

function fieldColumns(name: FieldName): readonly PlainColumn[] {
  const { storage, help }: Pick<Field, 'storage' | 'help'> = FIELDS[name];
  switch (storage.as) {
    // A chart has no place in a row.
    case 'series':
      return [];
    case 'bracket':
      return memberColumns(name, name, BRACKET);
    case 'members':
      return memberColumns(name, storage.prefix ?? name, storage.of);
    case 'requests':
    case 'metrics':
    case 'notes':
    case 'json':
      return [jsonColumn(name)];
    case 'integer':
    case 'real':
    case 'seconds':
    case 'time':
    case 'text':
    case 'choice':
    case 'word':
      return [{ name, ...leafFacts(storage), help, fields: [name], value: (record) => flat(record[name]) }];
  }
}

const REQUEST_FIELDS = ['h_vmem', 'requests', 'request_order'] as const;

/** The request that the record is judged by. */
const JUDGED_BY: readonly PlainColumn[] = [
  {
    name: 'request_complex',
    type: 'text',
    unit: null,
    help: 'complex of the request that it is judged by, the first in the order of request_complex',
    fields: REQUEST_FIELDS,
    value: (record) => requestOf(record)?.complex ?? null,
  },
  ...(['request_bytes', 'limit_bytes', 'per'] as const).map((member): PlainColumn => ({
    name: member === 'request_bytes' ? member : `request_${member}`,
    ...leafFacts(REQUEST[member].storage),
    help: `the request that it is judged by: ${REQUEST[member].help}`,
    fields: REQUEST_FIELDS,
    value: (record) => requestOf(record)?.[member] ?? null,
  })),
];

const efficiency = <Name extends FieldName>(
  name: 'cpu_efficiency' | 'memory_efficiency' | 'queue_wait_seconds',
  unit: string,
  fields: readonly Name[],
  value: (record: Pick<JobRecord, Name>) => number | null,
): PlainColumn => ({ name, type: 'real', unit, help: DERIVED_HELP[name], fields, value });

const EFFICIENCIES: readonly PlainColumn[] = [
  efficiency(
    'cpu_efficiency',
    'ratio',
    ['cpu_seconds', 'wallclock_seconds', 'suspended_seconds', 'host_slots', 'slots', 'trust', 'pe_task_id'],
    cpuEfficiency,
  ),
  efficiency('memory_efficiency', 'ratio', ['peak_rss', ...REQUEST_FIELDS], memoryEfficiency),
  efficiency('queue_wait_seconds', 'seconds', ['cluster', 'submitted_at', 'started_at'], queueWait),
];

/** Derived columns, by the field that they follow. */
const DERIVED: Readonly<Partial<Record<FieldName, readonly PlainColumn[]>>> = {
  request_order: JUDGED_BY,
  cpu_seconds: EFFICIENCIES,
};

export const PLAIN_COLUMNS: readonly PlainColumn[] = FIELD_NAMES.flatMap((name) => [
  ...fieldColumns(name),
  ...(DERIVED[name] ?? []),
]);

/** A column's cell in a table. */
export function tableValue({ type, value }: PlainColumn, record: JobRecord): TableValue {
  const plain = value(record);
  if (typeof plain === 'object') return plain === null ? null : JSON.stringify(plain);
  return type === 'time' && typeof plain === 'string' ? Date.parse(plain) : plain;
}

/** Records as a table. */
export const tableColumns = (columns: readonly PlainColumn[], records: readonly JobRecord[]): readonly TableColumn[] =>
  columns.map((column) => records.map((record) => tableValue(column, record)));
