import type { LongWork } from '../history-store';
import { nameClass } from '../../record/name-class';
import { addFacts, DEFAULT_FAR_BELOW, newSums, stepsOf, type Sums } from '../../record/sums';
import { TOTALS, TOTALS_NAMES } from '../../record/totals';
import { DIMENSIONS } from '../summary';
import type { Connection } from './connect';
import { packSums } from './day-sums';
import { eachFact, type FactRow } from './fact-rows';
import { insertRows, type TypedColumn } from './insert-rows';
import type { Merger } from './merger';
import { Snapshot } from './snapshot';

const DAY_MS = 86_400_000;
const text = (name: string): TypedColumn => ({ name, type: 'text' });
const ROLLED: readonly TypedColumn[] = [
  { name: 'dimension', type: 'smallint' },
  { name: 'day', type: 'integer' },
  ...['cluster', 'key', 'hours', 'shares', 'coverage', 'elsewhere'].map(text),
  ...TOTALS_NAMES.map((name) => ({ name, type: TOTALS[name].whole ? 'bigint' : 'double precision' })),
];
const SETTLED = { records: [], ids: [], days: new Set<number>() };

/** Of a day: all, or what one owner, project ... has of it. */
interface Group {
  readonly dimension: number;
  readonly cluster: string;
  readonly key: string;
  readonly sums: Sums;
  readonly alone: Set<string>;
  readonly elsewhere: Set<string>;
}

function addRow(groups: Map<string, Group>, row: FactRow): void {
  const keys = [null, ...row.keys];
  for (const [dimension, word] of keys.entries()) {
    const key = word === null ? '' : dimension === DIMENSIONS.length ? nameClass(word) : word;
    const id = JSON.stringify([dimension, row.cluster, key]);
    let group = groups.get(id);
    if (group === undefined) {
      const { cluster } = row;
      group = { dimension, cluster, key, sums: newSums(), alone: new Set(), elsewhere: new Set() };
      groups.set(id, group);
    }
    addFacts(group.sums, row.facts, row.countedAt, stepsOf(DEFAULT_FAR_BELOW));
    (row.elsewhere ? group.elsewhere : group.alone).add(row.job);
  }
}

/** Sums up one day; false: another process has done it. */
export function rollDay(merger: Merger, day: number): Promise<boolean> {
  return merger.alone(async (inner) => {
    const marked = await inner.rows('DELETE FROM qmemacct.stale_day WHERE day = $1 RETURNING 1', [day]);
    if (marked.length === 0) return false;
    const groups = new Map<string, Group>();
    const snapshot = new Snapshot(inner, { records: 'qmemacct.named_record', all: true });
    const interval = { since: day * DAY_MS, until: (day + 1) * DAY_MS };
    await eachFact(snapshot, SETTLED, interval, DIMENSIONS, (row) => {
      addRow(groups, row);
    });
    await inner.query('DELETE FROM qmemacct.rollup WHERE day = $1 AND dimension BETWEEN 0 AND 5', [day]);
    await insertRows(
      inner,
      'rollup',
      ROLLED,
      [...groups.values()].map(({ dimension, cluster, key, sums, alone, elsewhere }) => {
        sums.totals.jobs = alone.size + elsewhere.size;
        return [dimension, day, cluster, key, ...packSums(sums, elsewhere)];
      }),
    );
    return true;
  });
}

/** Days to be summed up, before a day. */
export async function staleDays(db: Pick<Connection, 'rows'>, before = 2 ** 31 - 1): Promise<readonly number[]> {
  const rows = await db.rows<[number]>('SELECT day FROM qmemacct.stale_day WHERE day < $1 ORDER BY day', [before]);
  return rows.map(([day]) => day);
}

/** Sums up the days whose records have changed since, a transaction each; resolves to how many. */
export async function rollUp(db: Connection, merger: Merger, { signal, onProgress }: LongWork): Promise<number> {
  const days = await staleDays(db);
  let rolled = 0;
  for (const [index, day] of days.entries()) {
    if (signal?.aborted) break;
    if (await rollDay(merger, day)) rolled++;
    onProgress?.(index + 1, days.length);
  }
  return rolled;
}
