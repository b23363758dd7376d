import { TOTALS_NAMES, totalsAt } from '../../../record/totals';
import type { BinCell } from '../../sums/bins';
import { narrowest, rangeWithin, type GroupKey } from '../../sums/grouping-sets';
import type { HourChoice } from '../../sums/hour-sums';
import type { Changes } from '../../sums/kept-hours';
import { dayOf, FOR_EVER, hourOf, UNITS, type Period, type Span } from '../../sums/periods';
import type { RolledQuery, RolledState } from '../../sums/plan';
import type { RepeatedJobRow, GroupTotals, RolledRow } from '../../sums/summer';
import type { Transaction } from '../connect';

/** In the tables of roll-ups keys are texts; '': records without a key. */

type Rows = Pick<Transaction, 'rows'>;

export type StoredRow = readonly [
  day: number,
  cluster: string,
  key: string,
  hours: BinCell,
  shares: BinCell,
  coverage: BinCell,
  ...totals: number[],
];
const TOTALS_AT = 6;

/** The columns of `rollup AS u` that make a StoredRow. */
export const ROLLED_COLUMNS = `u.day, u.cluster, u.key, u.hours, u.shares, u.coverage, ${TOTALS_NAMES.map((name) => `u.${name}`).join(', ')}`;
/** The totals of all periods of a key together. */
const SUMMED_TOTALS = TOTALS_NAMES.map((name) => `sum(u.${name})::double precision`).join(', ');

const keyIn = (text: string): GroupKey => (text === '' ? null : text);

export function rolledRow(row: StoredRow): RolledRow {
  const [day, cluster, key, hours, shares, coverage] = row;
  const bins = [hours, shares, coverage] as const;
  return { day, cluster, key: keyIn(key), totals: totalsAt(row, TOTALS_AT), bins };
}

/** Days to be summed up, from `first` to before `end`. */
export async function staleDays(db: Rows, first = 0, end = FOR_EVER): Promise<readonly number[]> {
  const rows = await db.rows<[number]>('SELECT day FROM qmemacct.stale_day WHERE day >= $1 AND day < $2 ORDER BY day', [
    first,
    end,
  ]);
  return rows.map(([day]) => day);
}

/** Those of `days` from which no record has been pruned. */
async function openDays(db: Rows, days: readonly number[]): Promise<readonly number[]> {
  const rows = await db.rows<[number]>(
    `SELECT d::integer FROM jsonb_array_elements_text($1::text::jsonb) AS d
     WHERE NOT EXISTS (SELECT FROM qmemacct.pruned_day AS p WHERE p.day = d::integer)`,
    [JSON.stringify(days)],
  );
  return rows.map(([day]) => day);
}

/** Days, months and years that have been summed up, beginning from `first` to before `end`. */
export async function summedPeriods(db: Rows, first = 0, end = FOR_EVER): Promise<readonly Period[]> {
  const rows = await db.rows<[number, number]>(
    `SELECT DISTINCT unit, day FROM qmemacct.rollup WHERE dimension = 0 AND key = '' AND day >= $1 AND day < $2`,
    [first, end],
  );
  return rows.map(([unit, day]) => ({ unit: UNITS[unit] ?? 'day', day }));
}

/** Which roll-ups a query asks for. */
export interface RolledChoice extends HourChoice {
  readonly periods: readonly Period[];
}

/** Reads roll-ups. */
export class RolledReader {
  constructor(private readonly db: Rows) {}

  /** `unsettled`: days with records that wait in the inbox. */
  async state({ first, end }: RolledQuery, unsettled: ReadonlySet<number>): Promise<RolledState> {
    const waiting = [...unsettled].filter((day) => day >= first && day < end);
    const stale = new Set([...(await staleDays(this.db, first, end)), ...(await openDays(this.db, waiting))]);
    return {
      staleDays: [...stale].sort((a, b) => a - b),
      periods: await summedPeriods(this.db, first, end),
    };
  }

  /** `unsettled`: hours with records that wait in the inbox. */
  async changes({ since, until }: Span, unsettled: NonNullable<Changes['unsettled']>): Promise<Changes> {
    const hours = await this.db.rows<[number, number]>(
      'SELECT hour, change FROM qmemacct.stale_hour WHERE hour >= $1 AND hour <= $2',
      [hourOf(since), hourOf(until)],
    );
    const days = await this.db.rows<[number, number]>(
      'SELECT day, change FROM qmemacct.summed_day WHERE day >= $1 AND day <= $2',
      [dayOf(since), dayOf(until)],
    );
    return { hours: new Map(hours), days: new Map(days), unsettled };
  }

  /** The sums period by period, with bins. Keys are those of the narrowest dimension. */
  async rows(choice: RolledChoice): Promise<readonly RolledRow[]> {
    const found = await this.read<StoredRow>(choice, `SELECT ${ROLLED_COLUMNS} FROM qmemacct.rollup AS u`, '');
    return found.map(rolledRow).map((row) => ({ ...row, key: narrowest(choice.set, row.key) }));
  }

  /** Sums over all periods together. */
  async totals(choice: RolledChoice): Promise<readonly GroupTotals[]> {
    const found = await this.read<readonly [string, ...number[]]>(
      choice,
      `SELECT u.key, ${SUMMED_TOTALS} FROM qmemacct.rollup AS u`,
      'GROUP BY u.key',
    );
    return found.map((row) => [narrowest(choice.set, keyIn(row[0])), totalsAt(row, 1)]);
  }

  /** Jobs that an earlier period has counted, since the beginning of the interval (`since`). */
  async again(choice: RolledChoice, since: number): Promise<readonly RepeatedJobRow[]> {
    const found = await this.read<readonly [string, string, number]>(
      choice,
      'SELECT u.cluster, u.key, count(*) FROM qmemacct.rollup_again AS u',
      `AND u.before >= ${Math.ceil(since)} GROUP BY u.cluster, u.key`,
    );
    return found.map(([cluster, key, jobs]) => ({
      cluster,
      key: narrowest(choice.set, keyIn(key)),
      jobs,
    }));
  }

  private read<Row extends readonly unknown[]>(
    { set, key, within, cluster, periods }: RolledChoice,
    select: string,
    more: string,
  ): Promise<readonly Row[]> {
    const list = JSON.stringify(periods.map(({ unit, day }) => [UNITS.indexOf(unit), day]));
    return this.db.rows<Row>(
      `${select} WHERE (u.unit, u.day) IN
         (SELECT (p ->> 0)::smallint, (p ->> 1)::integer FROM jsonb_array_elements($1::text::jsonb) AS p)
       AND u.dimension = $2 AND ($3::text IS NULL OR u.key = $3) AND ($4::text IS NULL OR u.cluster = $4)
       AND ($5::text IS NULL OR u.key >= $5 AND u.key < $6) ${more}`,
      [list, set, key, cluster, ...(within === null ? [null, null] : rangeWithin(within))],
    );
  }
}
