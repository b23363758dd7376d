import type { Database } from 'better-sqlite3';
import { DAY_MS } from '../../../base/units';
import { Latest } from '../../../base/latest';
import { JOB_SPAN_MS } from '../../../record/facts';
import { TOTALS_NAMES, totalsAt, type Totals } from '../../../record/totals';
import type { BinCell } from '../../sums/bins';
import {
  CUT,
  dictionaryOf,
  groupingSet,
  GROUPING_SETS,
  groupKey,
  keyPart,
  narrowest,
  rangeWithin,
  type GroupKey,
} from '../../sums/grouping-sets';
import type { Changes } from '../../sums/kept-hours';
import { dayOf, hourOf, HOURS_OF_DAY, UNITS, FOR_EVER, type Period, type Span, type Unit } from '../../sums/periods';
import type { RolledQuery, RolledState } from '../../sums/plan';
import type { RepeatedJobRow, GroupTotals, RolledRow } from '../../sums/summer';
import type { Dictionary } from '../../cell-codec';
import type { Words } from '../database/dictionary';
import { prepared } from '../database/prepared';
import type { NamedKind } from '../read/record-filter';

/** Days whose sums are missing or out of date. Parameters: @first, @end. */
export const STALE_DAYS = `SELECT DISTINCT hour / ${HOURS_OF_DAY} AS day FROM stale_hour
  WHERE hour >= @first * ${HOURS_OF_DAY} AND hour < @end * ${HOURS_OF_DAY} ORDER BY day`;

/**
 * Hours that are not summed up but may be kept in memory (see `staleHours`), with the number of their last change.
 * Parameters: @first, @end.
 */
export const CHANGED_HOURS = `SELECT hour, change FROM stale_hour WHERE hour >= @first AND hour < @end
  AND hour < (SELECT max(day) + ${JOB_SPAN_MS / DAY_MS + 1} FROM rollup WHERE unit = 0) * ${HOURS_OF_DAY}`;

/** Days that have been summed up, with a number that changes each time. Parameters: @first, @end. */
export const SUMMED_DAYS = 'SELECT day, change FROM summed_day WHERE day >= @first AND day < @end';

/** Days, months and years that are summed up. Parameters: @first, @end. */
export const SUMMED_PERIODS = `SELECT DISTINCT unit, day FROM rollup_bins
  WHERE dimension = 0 AND key = 0 AND unit IN (0, 1, 2) AND day >= @first AND day < @end`;

/** Days to be summed up, from `first` to before `end`. */
export function staleDays(db: Database, first = 0, end = FOR_EVER): readonly number[] {
  return prepared<object, number>(db, STALE_DAYS, 'pluck').all({ first, end });
}

/** Days, months and years that have been summed up, beginning from `first` to before `end`. */
export function summedPeriods(db: Database, first = 0, end = FOR_EVER): readonly Period[] {
  const rows = prepared<object, [number, number]>(db, SUMMED_PERIODS, 'raw').all({ first, end });
  return rows.map(([unit, day]) => ({ unit: UNITS[unit] ?? 'day', day }));
}

interface Choice {
  /** Whether only some keys of the dimension are chosen. */
  readonly keys: boolean;
  readonly cluster: boolean;
}

/** Parameters: @unit, @days (JSON), @dimension, @keys (JSON), @cluster as chosen. */
function rolled(table: string, { keys, cluster }: Choice): string {
  return `FROM ${table} WHERE u.unit = @unit AND u.day IN (SELECT value FROM json_each(@days)) AND u.dimension = @dimension${
    keys ? ' AND u.key IN (SELECT value FROM json_each(@keys))' : ''
  }${cluster ? ' AND u.cluster_id = @cluster' : ''}`;
}

/** The columns of `rollup u` and `rollup_bins b` that make a StoredRow. */
export const ROLLED_COLUMNS = `u.day, u.cluster_id, u.key, b.hours, b.shares, b.coverage, ${TOTALS_NAMES.map((name) => `u.${name}`).join(', ')}`;

/** Period by period, with bins. */
export function rolledQuery(choice: Choice): string {
  return `SELECT ${ROLLED_COLUMNS}
  ${rolled('rollup u CROSS JOIN rollup_bins b USING (dimension, key, unit, day, cluster_id)', choice)}`;
}

/** Sums over all periods together: key, totals. */
export function groupsQuery(choice: Choice): string {
  return `SELECT u.key, ${TOTALS_NAMES.map((name) => `sum(u.${name})`).join(', ')}
  ${rolled('rollup u', choice)} GROUP BY u.key`;
}

/** One sum of all periods together: key, sum. */
export function valuesQuery(name: keyof Totals, choice: Choice): string {
  return `SELECT u.key, sum(u.${name}) ${rolled('rollup u', choice)} GROUP BY u.key`;
}

/** Jobs that an earlier period of the interval has counted: key, cluster, how many. Parameters: these, and @since. */
export function repeatedJobsQuery(choice: Choice): string {
  return `SELECT u.key, u.cluster_id, count(*) ${rolled('rollup_again u', choice)} AND u.before >= @since
  GROUP BY u.key, u.cluster_id`;
}

/** Numbers of keys of several dimensions between two texts. */
export const KEYS_WITHIN = 'SELECT id FROM rollup_key WHERE name >= ? AND name < ?';

/** Numbers of matching name classes; a site has hundreds. A cut key may match anything. Parameters: @glob, @most. */
const KINDS_LIKE = `SELECT id FROM name_class WHERE name GLOB @glob OR name GLOB '*${CUT}*' LIMIT @most`;

/** Numbers of a user's matching name classes. Parameters: the same, @from, @to. */
export const OWN_KINDS_LIKE = `SELECT id FROM rollup_key WHERE name >= @from AND name < @to
  AND (substr(name, length(@from) + 1) GLOB @glob OR name GLOB '*${CUT}*') LIMIT @most`;

const KIND = groupingSet(new Set(['job_name']));
const OWN_KIND = groupingSet(new Set(['owner', 'job_name']));

/** At most `most` keys of matching name classes, and their grouping set in the roll-ups. */
export function kindsLike(
  db: Database,
  { owner, glob }: NamedKind,
  most: number,
): { readonly dimension: number | null; readonly keys: readonly number[] } {
  if (owner === null)
    return { dimension: KIND, keys: prepared<object, number>(db, KINDS_LIKE, 'pluck').all({ glob, most }) };
  const [from, to] = rangeWithin(`${OWN_KIND}:${keyPart(groupKey('owner', owner))}`);
  const parameters = { from, to, glob: keyPart(glob), most };
  return { dimension: OWN_KIND, keys: prepared<object, number>(db, OWN_KINDS_LIKE, 'pluck').all(parameters) };
}

/** Days that are not summed up, and those with self-reported records, which no sum counts. Parameters: @first, @end. */
export const OTHER_DAYS = `SELECT hour / ${HOURS_OF_DAY} FROM stale_hour
    WHERE hour >= @first * ${HOURS_OF_DAY} AND hour < @end * ${HOURS_OF_DAY}
  UNION SELECT counted_at / ${DAY_MS} FROM record
    WHERE trust = 3 AND counted_at >= @first * ${DAY_MS} AND counted_at < @end * ${DAY_MS}`;

/** Days on which there may be records of a key, newest first. Parameters: @dimension, @key, @first, @end. */
export const DAYS_OF_KEY = `SELECT day FROM rollup_bins
    WHERE dimension = @dimension AND key = @key AND unit = 0 AND day >= @first AND day < @end
  UNION ${OTHER_DAYS} ORDER BY 1 DESC`;

/** As DAYS_OF_KEY, for several keys, even without bins. Parameters: @dimension, @days, @keys (JSON), @first, @end. */
export const DAYS_OF_KINDS = `SELECT day FROM rollup
    WHERE unit = 0 AND day IN (SELECT value FROM json_each(@days)) AND dimension = @dimension
      AND key IN (SELECT value FROM json_each(@keys))
  UNION ${OTHER_DAYS} ORDER BY 1 DESC`;

/** The dictionary of a grouping set's keys, and their prefix there; null: the set has no dimension. */
function dictionaryOfSet(set: number): readonly [dictionary: Dictionary, head: string] | null {
  const [name, ...more] = GROUPING_SETS[set] ?? [];
  if (name === undefined) return null;
  return more.length === 0 ? [dictionaryOf(name), ''] : ['rollup_key', `${set}:`];
}

/** A key of a roll-up's row as text. */
export function keyText(words: Words, set: number, key: number): GroupKey {
  const found = dictionaryOfSet(set);
  if (found === null || key === 0) return null;
  const [dictionary, head] = found;
  return words.text(dictionary, key).slice(head.length);
}

/** A key's number, made if the key is new: call it only inside a write transaction. */
export function keyNumber(words: Words, set: number, key: GroupKey): number {
  const found = dictionaryOfSet(set);
  if (found === null || key === null) return 0;
  const [dictionary, head] = found;
  return words.intern(dictionary, head + key);
}

export type StoredRow = readonly [
  day: number,
  cluster: number,
  key: number,
  hours: BinCell,
  shares: BinCell,
  coverage: BinCell,
  ...totals: number[],
];
export const TOTALS_AT = 6;

/** Which roll-ups a query asks for. */
export interface RolledChoice {
  /** The number of a grouping set. */
  readonly set: number;
  /** Numbers of keys in the set's dictionary; null: all. */
  readonly keys: readonly number[] | null;
  readonly cluster: number | null;
  readonly periods: readonly Period[];
  /** Differs once a day was summed up anew; while it is the same, the rows are the same. */
  readonly change: string;
}

interface KeptRows {
  readonly change: string;
  readonly rows: readonly (readonly unknown[])[];
}

/** Most cells kept: some 25 MB. */
const MOST_CELLS = 500_000;

/** What an answer takes beside its rows (it may have none), counted as this many cells. */
const ANSWER_CELLS = 500;

/** Rows of roll-ups that a reader keeps, so that a page that is shown again need not read them. */
export const newKeptRows = (): Latest<string, KeptRows> =>
  new Latest(MOST_CELLS, ({ rows }) => ANSWER_CELLS + rows.length * (rows[0]?.length ?? 0));

/** Reads roll-ups. */
export class RolledReader {
  constructor(
    private readonly db: Database,
    private readonly words: Words,
    private readonly kept = newKeptRows(),
  ) {}

  state({ first, end }: Pick<RolledQuery, 'first' | 'end'>): RolledState {
    return { staleDays: staleDays(this.db, first, end), periods: summedPeriods(this.db, first, end) };
  }

  changes({ since, until }: Span): Changes {
    const numbers = (sql: string, of: (ms: number) => number): ReadonlyMap<number, number> =>
      new Map(prepared<object, [number, number]>(this.db, sql, 'raw').all({ first: of(since), end: of(until) + 1 }));
    return { hours: numbers(CHANGED_HOURS, hourOf), days: numbers(SUMMED_DAYS, dayOf) };
  }

  /** The number of a key; empty: the key has none. */
  numbersOf(set: number, key: string): readonly number[] {
    const [dictionary, head] = dictionaryOfSet(set) ?? [];
    const number = dictionary === undefined ? null : this.words.find(dictionary, `${head ?? ''}${key}`);
    return number === null ? [] : [number];
  }

  /** The numbers of all keys within a wider key. */
  numbersWithin(set: number, wider: string): readonly number[] {
    return prepared<[string, string], number>(this.db, KEYS_WITHIN, 'pluck').all(...rangeWithin(`${set}:${wider}`));
  }

  /** The sums period by period, with bins. Keys are those of the narrowest dimension. */
  *rows(choice: RolledChoice): Generator<RolledRow, void> {
    for (const row of this.read<StoredRow>(rolledQuery, choice)) {
      const [day, cluster, key, hours, shares, coverage] = row;
      yield {
        day,
        cluster: this.words.text('cluster', cluster),
        key: this.keyOf(choice, key),
        totals: totalsAt(row, TOTALS_AT),
        bins: [hours, shares, coverage],
      };
    }
  }

  /** Sums over all periods of a unit together; a group may come once per unit. */
  *totals(choice: RolledChoice): Generator<GroupTotals, void> {
    for (const row of this.read<readonly [number, ...number[]]>(groupsQuery, choice))
      yield [this.keyOf(choice, row[0]), totalsAt(row, 1)];
  }

  /** One total of each group, with its key's number and text; a group may come several times. */
  *values(choice: RolledChoice, name: keyof Totals): Generator<readonly [number, GroupKey, number], void> {
    for (const [key, value] of this.read<[number, number]>((made) => valuesQuery(name, made), choice))
      yield [key, this.keyOf(choice, key), value];
  }

  /** Jobs that an earlier period has counted, since the beginning of the interval (`since`). */
  *again(choice: RolledChoice, since: number): Generator<RepeatedJobRow, void> {
    for (const [key, cluster, jobs] of this.read<[number, number, number]>(repeatedJobsQuery, choice, { since }))
      yield { cluster: this.words.text('cluster', cluster), key: this.keyOf(choice, key), jobs };
  }

  private keyOf({ set }: RolledChoice, key: number): GroupKey {
    return narrowest(set, keyText(this.words, set, key));
  }

  private *read<Row extends readonly unknown[]>(
    sqlOf: (choice: Choice) => string,
    choice: RolledChoice,
    more: object = {},
  ): Generator<Row, void> {
    const { set, keys, cluster, periods, change } = choice;
    const sql = sqlOf({ keys: keys !== null, cluster: cluster !== null });
    const chosen = { dimension: set, keys: JSON.stringify(keys), cluster };
    const daysOf = (unit: Unit): readonly number[] => periods.filter((it) => it.unit === unit).map(({ day }) => day);
    for (const [number, unit] of UNITS.entries()) {
      const days = JSON.stringify(daysOf(unit));
      if (days === '[]') continue;
      const parameters = { ...more, ...chosen, unit: number, days };
      const name = `${JSON.stringify(parameters)} ${sql}`;
      const kept = this.kept.get(name);
      if (kept?.change === change) yield* kept.rows as readonly Row[];
      else {
        const rows = prepared<object, Row>(this.db, sql, 'raw').all(parameters);
        this.kept.set(name, { change, rows });
        yield* rows;
      }
    }
  }
}
