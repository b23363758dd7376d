import { DAY_MS } from '../../../base/units';
import { TOTALS, TOTALS_NAMES } from '../../../record/totals';
import { DIMENSIONS } from '../../summary';
import { binCells } from '../../sums/bins';
import { GROUPING_SETS, hasBins } from '../../sums/grouping-sets';
import { HOURS_OF_DAY, largerPeriods, UNITS, type Period } from '../../sums/periods';
import { LargestOfDay } from '../../sums/largest';
import {
  DaySums,
  missingPeriods,
  partsOf,
  PeriodSums,
  type RepeatedJob,
  type LargerPeriod,
  type RolledGroup,
} from '../../sums/roll-up';
import type { Transaction } from '../connect';
import { WaitingAccounts } from '../inbox';
import { insertRows, type TypedColumn } from '../insert-rows';
import { NOTHING_UNSETTLED, Snapshot } from '../snapshot';
import { FactReader } from './record-facts';
import { ROLLED_COLUMNS, rolledRow, summedPeriods, type StoredRow } from './rolled-rows';

const text = (name: string): TypedColumn => ({ name, type: 'text' });
const GROUP: readonly TypedColumn[] = [
  { name: 'unit', type: 'smallint' },
  { name: 'day', type: 'integer' },
  { name: 'dimension', type: 'smallint' },
  text('cluster'),
  text('key'),
];
const ROLLED: readonly TypedColumn[] = [
  ...GROUP,
  ...['hours', 'shares', 'coverage'].map(text),
  ...TOTALS_NAMES.map((name) => ({ name, type: TOTALS[name].whole ? 'bigint' : 'double precision' })),
];
const LARGEST: readonly TypedColumn[] = [
  { name: 'day', type: 'integer' },
  { name: 'dimension', type: 'smallint' },
  text('key'),
  { name: 'sort', type: 'smallint' },
  text('amounts'),
  text('ids'),
];
const AGAIN: readonly TypedColumn[] = [...GROUP, { name: 'before', type: 'bigint' }];

/** The parts of a period to sum up; $1 unit, $2 first day, $3 the first day after, $4 dimension. */
const OF_PARTS = 'WHERE u.unit = $1 AND u.day >= $2 AND u.day < $3 AND u.dimension = $4';
const ALL_RECORDS = { records: 'qmemacct.named_record', all: true };

async function remove(db: Transaction, { unit, day }: Period): Promise<void> {
  for (const table of ['rollup', 'rollup_again'])
    await db.query(`DELETE FROM qmemacct.${table} WHERE unit = $1 AND day = $2`, [UNITS.indexOf(unit), day]);
  if (unit === 'day') await db.query('DELETE FROM qmemacct.rollup_largest WHERE day = $1', [day]);
}

/** Stores the sums of a period, and removes those of the larger periods that it is in: they must be made again. */
async function put(
  db: Transaction,
  period: Period,
  groups: readonly RolledGroup[],
  again: readonly RepeatedJob[],
): Promise<void> {
  for (const one of [period, ...largerPeriods(period)]) await remove(db, one);
  const cells = ({ set, cluster, key }: Omit<RepeatedJob, 'before'>): readonly (string | number)[] => [
    UNITS.indexOf(period.unit),
    period.day,
    set,
    cluster,
    key ?? '',
  ];
  const rows = groups.map((group) => {
    const { set, sums } = group;
    const bins = hasBins(set) ? binCells(sums) : [null, null, null];
    return [...cells(group), ...bins, ...TOTALS_NAMES.map((name) => sums.totals[name])];
  });
  await insertRows(db, 'rollup', ROLLED, rows);
  const before = again.map((job) => [...cells(job), job.before]);
  await insertRows(db, 'rollup_again', AGAIN, before);
}

/** Sums up the records of a day, under the merger's lock; false: another process has done it. */
export async function putDay(db: Transaction, day: number): Promise<boolean> {
  const marked = await db.rows('DELETE FROM qmemacct.stale_hour WHERE hour >= $1 AND hour < $2 RETURNING 1', [
    day * HOURS_OF_DAY,
    (day + 1) * HOURS_OF_DAY,
  ]);
  if (marked.length === 0) return false;
  await db.query(
    `INSERT INTO qmemacct.summed_day VALUES ($1, txid_current())
     ON CONFLICT (day) DO UPDATE SET change = excluded.change`,
    [day],
  );
  const span = { since: day * DAY_MS, until: (day + 1) * DAY_MS };
  const facts = new FactReader(
    new Snapshot(db, ALL_RECORDS, new WaitingAccounts()),
    NOTHING_UNSETTLED,
    span,
    DIMENSIONS,
  );
  const sums = new DaySums();
  const largest = new LargestOfDay();
  for await (const rows of facts.records(span))
    for (const row of rows) {
      sums.add(row);
      largest.add(row);
    }
  const again = sums.again(await facts.earlier(span, 0));
  await put(db, { unit: 'day', day }, sums.groups, again);
  const lists = largest
    .lists()
    .map(({ set, key, sort, amounts, ids }) => [
      day,
      set,
      key ?? '',
      sort,
      JSON.stringify(amounts),
      JSON.stringify(ids),
    ]);
  await insertRows(db, 'rollup_largest', LARGEST, lists);
  return true;
}

/** The first month or year that is still to be summed up; undefined: none. */
export async function nextPeriod(db: Pick<Transaction, 'rows'>): Promise<LargerPeriod | undefined> {
  return missingPeriods(await summedPeriods(db))[0];
}

/** Sums up the next period, from its days or months; false: none is left. */
export async function putNext(db: Transaction): Promise<boolean> {
  const period = await nextPeriod(db);
  if (period === undefined) return false;
  const sums = new PeriodSums(period);
  for (let set = 0; set < GROUPING_SETS.length; set++) {
    const where = [...partsOf(period), set];
    const rows = await db.rows<StoredRow>(`SELECT ${ROLLED_COLUMNS} FROM qmemacct.rollup AS u ${OF_PARTS}`, where);
    for (const row of rows) sums.add(set, rolledRow(row));
    const counted = await db.rows<[string, string, number]>(
      `SELECT u.cluster, u.key, u.before FROM qmemacct.rollup_again AS u ${OF_PARTS}`,
      where,
    );
    for (const [cluster, key, before] of counted) sums.addAgain({ set, cluster, key: key === '' ? null : key, before });
  }
  await put(db, period, sums.groups, sums.again);
  return true;
}
