import type { Database } from 'better-sqlite3';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOTALS_NAMES, totalsAt } from '../../../record/totals';
import type { LongWork } from '../../history-store';
import { DIMENSIONS } from '../../summary';
import { binCells } from '../../sums/bins';
import { DAY_MS, HOURS_OF_DAY, largerPeriods, periodEnd, UNITS, type Period } from '../../sums/periods';
import { GROUPING_SETS, hasBins, type GroupKey } from '../../sums/grouping-sets';
import {
  DaySums,
  missingPeriods,
  PARTS_OF,
  PeriodSums,
  type Again,
  type LargerPeriod,
  type RolledGroup,
} from '../../sums/roll-up';
import type { Words } from '../database/dictionary';
import { CHANGE } from '../read/queries';
import { EVERY_RECORD } from '../read/record-filter';
import { FactReader } from './record-facts';
import { keyNumber, keyText, TOTALS_AT, type StoredRow } from './rolled-rows';

/** Writers that wait for the lock ask again every 100 ms at most (SQLite); so much of the time is theirs. */
const PAUSE_SHARE = 0.2;
const LEAST_PAUSE_MS = 2;

const INSERT_GROUP = `INSERT INTO rollup (unit, day, dimension, key, cluster_id, ${TOTALS_NAMES.join(', ')})
  VALUES (?, ?, ?, ?, ?, ${TOTALS_NAMES.map(() => '?').join(', ')})`;
const INSERT_BINS = `INSERT INTO rollup_bins (dimension, key, unit, day, cluster_id, hours, shares, coverage)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const INSERT_AGAIN =
  'INSERT INTO rollup_again (unit, day, dimension, key, cluster_id, before) VALUES (?, ?, ?, ?, ?, ?)';

/** What is stored of a period. Parameters: unit, day. */
const REMOVE_PERIOD = [
  `DELETE FROM rollup_bins WHERE (dimension, key, unit, day, cluster_id) IN
    (SELECT dimension, key, unit, day, cluster_id FROM rollup WHERE unit = ? AND day = ?)`,
  'DELETE FROM rollup WHERE unit = ? AND day = ?',
  'DELETE FROM rollup_again WHERE unit = ? AND day = ?',
];

/** Parameters: unit, the period's first day and the first after it, dimension. */
const PARTS = `SELECT u.day, u.cluster_id, u.key, b.hours, b.shares, b.coverage, ${TOTALS_NAMES.map((name) => `u.${name}`).join(', ')}
  FROM rollup u LEFT JOIN rollup_bins b USING (dimension, key, unit, day, cluster_id)
  WHERE u.unit = ? AND u.day >= ? AND u.day < ? AND u.dimension = ?`;
const AGAIN_OF_PARTS = `SELECT cluster_id, key, before FROM rollup_again
  WHERE unit = ? AND day >= ? AND day < ? AND dimension = ?`;

const SUMMED = 'SELECT DISTINCT day FROM rollup_bins WHERE dimension = 0 AND key = 0 AND unit = ?';

/** After a transaction: the others' turn. */
export async function pauseAfter(beganMs: number): Promise<void> {
  await sleep(Math.max(LEAST_PAUSE_MS, (performance.now() - beganMs) * PAUSE_SHARE));
}

/** Stores the sums of days, months and years; inside a write transaction. */
export class RollUps {
  private readonly facts: FactReader;
  private readonly insertGroup;
  private readonly insertBins;
  private readonly insertAgain;
  private readonly removals;
  private readonly markFresh;
  private readonly markSummed;
  private readonly parts;
  private readonly againOfParts;
  private readonly summed;

  constructor(
    db: Database,
    private readonly words: Words,
  ) {
    this.facts = new FactReader(db, words, DIMENSIONS);
    this.insertGroup = db.prepare<number[]>(INSERT_GROUP);
    this.insertBins = db.prepare<(number | string | null)[]>(INSERT_BINS);
    this.insertAgain = db.prepare<number[]>(INSERT_AGAIN);
    this.removals = REMOVE_PERIOD.map((sql) => db.prepare<[number, number]>(sql));
    this.markFresh = db.prepare<[number, number]>('DELETE FROM stale_hour WHERE hour >= ? AND hour < ?');
    this.markSummed = db.prepare<[number]>(`INSERT OR REPLACE INTO summed_day VALUES (?, ${CHANGE})`);
    this.parts = db.prepare<number[], StoredRow>(PARTS).raw();
    this.againOfParts = db.prepare<number[], [number, number, number]>(AGAIN_OF_PARTS).raw();
    this.summed = db.prepare<[number], number>(SUMMED).pluck();
  }

  /** Sums the records of a day up. */
  putDay(day: number): void {
    const span = { since: day * DAY_MS, until: (day + 1) * DAY_MS };
    const sums = new DaySums();
    for (const row of this.facts.records(EVERY_RECORD, span)) sums.add(row);
    const again = sums.again(this.facts.earlier(EVERY_RECORD, span, 0));
    this.put({ unit: 'day', day }, sums.groups(), again);
    this.markFresh.run(day * HOURS_OF_DAY, (day + 1) * HOURS_OF_DAY);
    this.markSummed.run(day);
  }

  /** Sums the first of the months and years up that are still to be, of its days or months. */
  putNext(): void {
    const [next] = this.missing();
    if (next !== undefined) this.putPeriod(next);
  }

  private putPeriod(period: LargerPeriod): void {
    const { unit, day } = period;
    const groups: RolledGroup[] = [];
    const again: Again[] = [];
    for (let set = 0; set < GROUPING_SETS.length; set++) {
      const sums = new PeriodSums(period, set);
      const where = [UNITS.indexOf(PARTS_OF[unit]), day, periodEnd(period), set];
      const cluster = (id: number): string => this.words.text('cluster', id);
      const key = (id: number): GroupKey => keyText(this.words, set, id);
      for (const row of this.parts.iterate(...where))
        sums.add({
          cluster: cluster(row[1]),
          key: key(row[2]),
          totals: totalsAt(row, TOTALS_AT),
          // A year's hours are in no one time zone: nobody asks for its bins.
          bins: unit === 'year' ? null : [row[3], row[4], row[5]],
        });
      for (const [clusterId, keyId, before] of this.againOfParts.iterate(...where))
        sums.addAgain({ cluster: cluster(clusterId), key: key(keyId), before });
      groups.push(...sums.groups());
      again.push(...sums.again());
    }
    this.put(period, groups, again);
  }

  /** Months, then years, that are to be summed up. */
  missing(): readonly LargerPeriod[] {
    const [days = [], ...larger] = UNITS.map((_unit, number) => this.summed.all(number));
    return missingPeriods(
      days,
      larger.flatMap((starts, index) => starts.map((day) => ({ unit: UNITS[index + 1] ?? 'day', day }))),
    );
  }

  /** The larger periods that it is in are to be summed up again. */
  private put(period: Period, groups: readonly RolledGroup[], again: readonly Again[]): void {
    for (const one of [period, ...largerPeriods(period)]) this.remove(one);
    const unit = UNITS.indexOf(period.unit);
    const { day } = period;
    for (const group of groups) {
      const { set, sums } = group;
      const [key, cluster] = this.numbersOf(group);
      this.insertGroup.run(unit, day, set, key, cluster, ...TOTALS_NAMES.map((name) => sums.totals[name]));
      if (hasBins(set)) this.insertBins.run(set, key, unit, day, cluster, ...binCells(sums));
    }
    for (const job of again) this.insertAgain.run(unit, day, job.set, ...this.numbersOf(job), job.before);
  }

  /** Removes what is stored of a period; returns of how many groups. */
  remove({ unit, day }: Period): number {
    const [, groups] = this.removals.map((removal) => removal.run(UNITS.indexOf(unit), day).changes);
    return groups ?? 0;
  }

  private numbersOf({ set, key, cluster }: Omit<Again, 'before'>): [key: number, cluster: number] {
    return [keyNumber(this.words, set, key), this.words.intern('cluster', cluster)];
  }
}

/** Sums up the days whose records have changed since, and their months and years, a transaction each; resolves to how many days. */
export async function rollUp(db: Database, words: Words, { signal, onProgress }: LongWork): Promise<number> {
  const rollUps = new RollUps(db, words);
  const stillStale = db.prepare<[number]>('SELECT 1 FROM stale_day WHERE day = ?');
  const inTurn = async (step: () => void): Promise<void> => {
    const began = performance.now();
    try {
      db.transaction(step).immediate();
    } catch (error) {
      words.forget();
      throw error;
    }
    await pauseAfter(began);
  };
  const days = db.prepare<[], number>('SELECT day FROM stale_day ORDER BY day').pluck().all();
  let rolled = 0;
  for (const [index, day] of days.entries()) {
    if (signal?.aborted) return rolled;
    await inTurn(() => {
      if (stillStale.get(day) === undefined) return;
      rollUps.putDay(day);
      rolled++;
    });
    onProgress?.(index + 1, days.length);
  }
  // Others may sum days and months up meanwhile: what is missing is looked up each time.
  for (let left = rollUps.missing().length; left > 0 && !signal?.aborted; left--)
    await inTurn(() => {
      rollUps.putNext();
    });
  return rolled;
}
