import { FIELD_NAMES, FIELDS, TRUSTS, type FieldName } from '../record/fields';
import type { JobRecord, MemorySeries } from '../record/record';
import { killedByMemory } from '../record/cause';
import { boolean, integer, list, map, number, object, oneOf, string, type ValueOf } from '../base/shape';
import { compactCopy, fromJson, repeatedJson, type Cell, type Column, type WordCodec } from './cell-codec';
import { FIELD_CODECS } from './columns';
import { COVERAGE_REASONS, coverageReason } from '../record/coverage';
import { chargedEnergy, requestedBytes } from '../record/facts';
import { provesMembership } from '../record/membership';
import type { Stamp, StoredRecord } from '../record/merge';
import { requestOf } from '../record/request';
import { DamagedRecord } from './store-error';

/** A row of the table `record`, less its id: the columns of all fields, then how it was merged, then what sums need. */

const MERGED_COLUMNS: readonly Column[] = [
  { name: 'ended', type: 'integer', small: true, help: "1: the job had ended by the record's own trust and revision" },
  {
    name: 'provenance_id',
    type: 'integer',
    dictionary: 'provenance',
    help: 'fields that come from other accounts, by account (JSON); NULL: none',
  },
  {
    name: 'provenance_revisions',
    type: 'text',
    mostlyInteger: true,
    help: 'the revision of that account; of several accounts a list (JSON)',
  },
];

/** The request that a record is judged by. */
export const REQUEST_COLUMNS: readonly Column[] = [
  {
    name: 'request_complex_id',
    type: 'integer',
    dictionary: 'complex',
    help: 'complex of the request that it is judged by',
  },
  { name: 'limit_bytes', type: 'integer', help: 'what that request allows on this host (request_complex_id)' },
];

/** What sums and visibility need beside the fields: derived from the whole record once, when it is stored. */
const DERIVED_COLUMNS: readonly Column[] = [
  { name: 'requested_bytes', type: 'integer', help: 'what it requests on this host' },
  { name: 'energy_joules', type: 'real', help: 'energy that the job was charged with' },
  {
    name: 'coverage',
    type: 'integer',
    small: true,
    help: `why it has no samples: ${COVERAGE_REASONS.map((reason, index) => `${index} ${reason}`).join(', ')}`,
  },
  { name: 'killed_by_memory', type: 'integer', small: true, help: '1: ended by memory' },
  {
    name: 'in_project',
    type: 'integer',
    small: true,
    help: '1: Grid Engine has let the owner into the project, by records that no user can have written',
  },
];

export const COLUMNS: readonly Column[] = [
  ...FIELD_CODECS.flatMap(({ codec }) => codec.columns),
  ...MERGED_COLUMNS,
  ...REQUEST_COLUMNS,
  ...DERIVED_COLUMNS,
];
export const COLUMN_NAMES = COLUMNS.map(({ name }) => name);

/** Position of a column in a row. */
export function columnAt(name: string): number {
  const at = COLUMN_NAMES.indexOf(name);
  if (at < 0) throw new RangeError(`no column ${name}`);
  return at;
}

export type Row = readonly Cell[];

/** An account, and the fields (`slots`) of a record that come from it. */
const account = object({ trust: oneOf(TRUSTS), ended: boolean, slots: list(string) });
const ACCOUNTS = list(account);
const NUMBERS = list(integer());
type Account = Omit<ValueOf<typeof account>, 'slots'> & { readonly slots: string[] };

/** The accounts that fields of a record come from, and the revision of each. */
function provenanceCells({ provenance }: StoredRecord, words: WordCodec): Row {
  const accounts = new Map<string, Account & { readonly revision: number }>();
  // Sorted: the same record must give the same row, whichever account came first.
  for (const slot of Object.keys(provenance).sort() as (keyof typeof provenance)[]) {
    const { trust, revision, ended } = provenance[slot] as Stamp;
    const name = `${trust} ${revision} ${ended}`;
    const account = accounts.get(name) ?? { trust, revision, ended, slots: [] };
    account.slots.push(slot);
    accounts.set(name, account);
  }
  if (accounts.size === 0) return [null, null];
  const given = [...accounts.values()];
  const named = given.map(({ trust, ended, slots }): Account => ({ trust, ended, slots }));
  const [first, ...others] = given.map(({ revision }) => revision);
  return [
    words.intern('provenance', JSON.stringify(named)),
    others.length === 0 ? (first ?? null) : JSON.stringify([first, ...others]),
  ];
}

const NO_PROVENANCE: StoredRecord['provenance'] = {};

const accountsOf = repeatedJson(ACCOUNTS, 'provenance');

function readProvenance(id: Cell, revisions: Cell, words: WordCodec): StoredRecord['provenance'] {
  if (typeof id !== 'number' || revisions === null) return NO_PROVENANCE;
  const accounts = accountsOf(words.text('provenance', id));
  const text = String(revisions);
  const one = Number(text);
  // Mostly there is one account, and its number needs no JSON parser.
  const given = Number.isSafeInteger(one)
    ? [one]
    : fromJson(NUMBERS, text.startsWith('[') ? text : `[${text}]`, 'provenance_revisions');
  return Object.fromEntries(
    accounts.flatMap(({ trust, ended, slots }, index) =>
      slots.map((slot) => [slot, { trust, revision: given[index] ?? 0, ended }]),
    ),
  );
}

/** The row of a record. New strings go to the dictionaries, so call it only inside a write transaction. */
export function toRow(stored: StoredRecord, words: WordCodec): Row {
  const { record } = stored;
  const row: Cell[] = [];
  for (const { name, codec } of FIELD_CODECS) row.push(...codec.write(record[name], words));
  row.push(Number(stored.ended), ...provenanceCells(stored, words));
  const request = requestOf(record);
  row.push(
    request === null ? null : words.intern('complex', request.complex),
    request?.limit_bytes ?? null,
    requestedBytes(record),
    chargedEnergy(record),
    COVERAGE_REASONS.indexOf(coverageReason(record)),
    Number(killedByMemory(record)),
    Number(provesMembership(stored)),
  );
  return row;
}

/** The values of each series, by its name. */
const POINTS = map(list(number()));

/** Columns of the table `series` before those of a record: start, step, points; NULL if the series is not read. */
export const SERIES_CELLS = 3;

function seriesAt(cells: readonly Cell[], at: number): MemorySeries | null {
  const start = cells[at];
  const points = cells[at + 2];
  if (typeof start !== 'number' || typeof points !== 'string') return null;
  const { rss_bytes = [], ...others } = fromJson(POINTS, points, 'points');
  return { start: new Date(start).toISOString(), step_seconds: Number(cells[at + 1]) / 1000, rss_bytes, others };
}

/** The cells of these columns (SERIES_CELLS), to write. */
export function seriesCells({ start, step_seconds: step, rss_bytes, others }: MemorySeries): [number, number, string] {
  return [Date.parse(start), Math.round(step * 1000), JSON.stringify({ ...others, rss_bytes })];
}

/** The values of fields that are not read. */
export const NO_FIELDS: Readonly<Record<string, unknown>> = compactCopy(
  Object.fromEntries(FIELD_NAMES.map((name) => [name, FIELDS[name].empty])),
);

/** The columns of some fields, then how the record was merged, and how the fields are read from them. */
export interface RowPlan {
  readonly columns: readonly Column[];
  /** `at`: the index of the field's first column. */
  readonly fields: readonly {
    readonly name: FieldName;
    readonly at: number;
    readonly read: (typeof FIELD_CODECS)[number]['codec']['read'];
  }[];
  /** The index of the first column that says how the record was merged. */
  readonly merged: number;
  /** Whether `provenance` is read: not if only some fields are needed. */
  readonly provenance: boolean;
}

/** How to read the needed fields of records (left out: all). `brief`: leaves out what no list needs of these fields. */
export function rowPlan(needed?: readonly FieldName[], brief = needed !== undefined): RowPlan {
  const columns: Column[] = [];
  const fields = FIELD_CODECS.filter(({ name }) => needed?.includes(name) ?? true).map(({ name, codec }) => {
    const at = columns.length;
    const { columns: own, read } = (brief ? codec.brief : undefined) ?? codec;
    columns.push(...own);
    return { name, at, read };
  });
  const merged = columns.length;
  const provenance = needed === undefined;
  columns.push(...MERGED_COLUMNS.slice(0, provenance ? undefined : 1));
  return { columns, fields, merged, provenance };
}

/** Every field but the series, which has a table of its own. */
export const ALL_FIELDS = rowPlan();

/** Runs a step that reads cells. Throws DamagedRecord if no writer makes such cells. */
export function withDamage<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw damageOf(error);
  }
}

/** An error from reading cells as DamagedRecord; any other error as it is. */
export const damageOf = (error: unknown): unknown =>
  error instanceof RangeError || error instanceof SyntaxError ? new DamagedRecord(error.message) : error;

/**
 * The record whose series (SERIES_CELLS) begins at `at` in `cells`; its own columns come next. Fields that the plan lacks
 * are empty. Throws DamagedRecord.
 */
export function fromRow(
  cells: readonly Cell[],
  at: number,
  words: WordCodec,
  plan: RowPlan = ALL_FIELDS,
): StoredRecord {
  return withDamage(() => {
    const fields: Record<string, unknown> = { ...NO_FIELDS };
    const first = at + SERIES_CELLS;
    const merged = first + plan.merged;
    for (const { name, at: from, read } of plan.fields) fields[name] = read(cells, first + from, words);
    fields.series = seriesAt(cells, at);
    return {
      record: fields as unknown as JobRecord,
      ended: cells[merged] === 1,
      provenance: plan.provenance
        ? readProvenance(cells[merged + 1] ?? null, cells[merged + 2] ?? null, words)
        : NO_PROVENANCE,
    };
  });
}
