import type { Database, Statement } from 'better-sqlite3';
import { DAY_MS } from '../../../base/units';
import { TOTALS_NAMES, totalsAt } from '../../../record/totals';
import { DIMENSIONS } from '../../summary';
import { binCells } from '../../sums/bins';
import { HOURS_OF_DAY, largerPeriods, UNITS, type Period } from '../../sums/periods';
import { GROUPING_SETS, hasBins, type GroupKey } from '../../sums/grouping-sets';
import { LargestOfDay } from '../../sums/largest';
import {
  DaySums,
  partsOf,
  PeriodSums,
  type RepeatedJob,
  type LargerPeriod,
  type RolledGroup,
} from '../../sums/roll-up';
import type { Words } from '../database/dictionary';
import { prepared } from '../database/prepared';
import { CHANGE } from '../read/queries';
import { EVERY_RECORD } from '../read/record-filter';
import { FactReader } from './record-facts';
import { keyNumber, keyText, ROLLED_COLUMNS, TOTALS_AT, type StoredRow } from './rolled-rows';

const INSERT_GROUP = `INSERT INTO rollup (unit, day, dimension, key, cluster_id, ${TOTALS_NAMES.join(', ')})
  VALUES (?, ?, ?, ?, ?, ${TOTALS_NAMES.map(() => '?').join(', ')})`;
const INSERT_BINS = `INSERT INTO rollup_bins (dimension, key, unit, day, cluster_id, hours, shares, coverage)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const INSERT_AGAIN =
  'INSERT INTO rollup_again (unit, day, dimension, key, cluster_id, before) VALUES (?, ?, ?, ?, ?, ?)';
const INSERT_LARGEST = 'INSERT INTO rollup_largest (day, dimension, key, sort, amounts, ids) VALUES (?, ?, ?, ?, ?, ?)';

/** Removes all that is stored of a period. Parameters: unit, day. */
const REMOVE_PERIOD = [
  `DELETE FROM rollup_bins WHERE (dimension, key, unit, day, cluster_id) IN
    (SELECT dimension, key, unit, day, cluster_id FROM rollup WHERE unit = ? AND day = ?)`,
  'DELETE FROM rollup WHERE unit = ? AND day = ?',
  'DELETE FROM rollup_again WHERE unit = ? AND day = ?',
  `DELETE FROM rollup_largest WHERE ? = ${UNITS.indexOf('day')} AND day = ?`,
];

/** The parts of a period to sum up. Parameters: unit, first day, the first day after, dimension. */
const PARTS = `SELECT ${ROLLED_COLUMNS}
  FROM rollup u LEFT JOIN rollup_bins b USING (dimension, key, unit, day, cluster_id)
  WHERE u.unit = ? AND u.day >= ? AND u.day < ? AND u.dimension = ?`;
const AGAIN_OF_PARTS = `SELECT cluster_id, key, before FROM rollup_again
  WHERE unit = ? AND day >= ? AND day < ? AND dimension = ?`;

const MARK_FRESH = 'DELETE FROM stale_hour WHERE hour >= ? AND hour < ?';
const MARK_SUMMED = `INSERT OR REPLACE INTO summed_day VALUES (?, ${CHANGE})`;

/** Stores the sums of days, months and years; use it inside a write transaction. */
export class RollUps {
  private readonly facts: FactReader;

  constructor(
    private readonly db: Database,
    private readonly words: Words,
  ) {
    this.facts = new FactReader(db, words, DIMENSIONS);
  }

  /** Sums up the records of a day; false: another process has done it. */
  putDay(day: number): boolean {
    if (this.statement(MARK_FRESH).run(day * HOURS_OF_DAY, (day + 1) * HOURS_OF_DAY).changes === 0) return false;
    this.statement(MARK_SUMMED).run(day);
    const span = { since: day * DAY_MS, until: (day + 1) * DAY_MS };
    const sums = new DaySums();
    const largest = new LargestOfDay();
    for (const row of this.facts.records(EVERY_RECORD, span)) {
      sums.add(row);
      largest.add(row);
    }
    const again = sums.again(this.facts.earlier(EVERY_RECORD, span, 0));
    this.put({ unit: 'day', day }, sums.groups, again);
    const insertLargest = prepared<(number | string)[], never>(this.db, INSERT_LARGEST);
    for (const { set, key, sort, amounts, ids } of largest.lists())
      insertLargest.run(day, set, keyNumber(this.words, set, key), sort, JSON.stringify(amounts), JSON.stringify(ids));
    return true;
  }

  /** Sums up a month or a year from its parts. */
  putPeriod(period: LargerPeriod): void {
    const parts = prepared<number[], StoredRow>(this.db, PARTS, 'raw');
    const againOfParts = prepared<number[], [number, number, number]>(this.db, AGAIN_OF_PARTS, 'raw');
    const sums = new PeriodSums(period);
    for (let set = 0; set < GROUPING_SETS.length; set++) {
      const where = [...partsOf(period), set];
      const cluster = (id: number): string => this.words.text('cluster', id);
      const key = (id: number): GroupKey => keyText(this.words, set, id);
      for (const row of parts.iterate(...where))
        sums.add(set, {
          cluster: cluster(row[1]),
          key: key(row[2]),
          totals: totalsAt(row, TOTALS_AT),
          bins: [row[3], row[4], row[5]],
        });
      for (const [clusterId, keyId, before] of againOfParts.iterate(...where))
        sums.addAgain({ set, cluster: cluster(clusterId), key: key(keyId), before });
    }
    this.put(period, sums.groups, sums.again);
  }

  /** Removes what is stored of a period; returns the number of groups removed. */
  remove({ unit, day }: Period): number {
    const run = (sql: string): number => this.statement(sql).run(UNITS.indexOf(unit), day).changes;
    const [, groups] = REMOVE_PERIOD.map(run);
    return groups ?? 0;
  }

  /** Stores the sums of a period, and removes those of the larger periods that it is in: they must be made again. */
  private put(period: Period, groups: readonly RolledGroup[], again: readonly RepeatedJob[]): void {
    for (const one of [period, ...largerPeriods(period)]) this.remove(one);
    const insertGroup = this.statement(INSERT_GROUP);
    const insertAgain = this.statement(INSERT_AGAIN);
    const insertBins = prepared<(number | string | null)[], never>(this.db, INSERT_BINS);
    const unit = UNITS.indexOf(period.unit);
    const { day } = period;
    for (const group of groups) {
      const { set, sums } = group;
      const [key, cluster] = this.numbersOf(group);
      insertGroup.run(unit, day, set, key, cluster, ...TOTALS_NAMES.map((name) => sums.totals[name]));
      if (hasBins(set)) insertBins.run(set, key, unit, day, cluster, ...binCells(sums));
    }
    for (const job of again) insertAgain.run(unit, day, job.set, ...this.numbersOf(job), job.before);
  }

  private numbersOf({ set, key, cluster }: Omit<RepeatedJob, 'before'>): [key: number, cluster: number] {
    return [keyNumber(this.words, set, key), this.words.intern('cluster', cluster)];
  }

  private statement(sql: string): Statement<number[], never> {
    return prepared<number[], never>(this.db, sql);
  }
}
