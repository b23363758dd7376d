import type { LongWork } from '../history-store';
import { nameClass } from '../../record/name-class';
import { StoreError } from '../store-error';
import { addFacts, DEFAULT_FAR_BELOW, newSums, stepsOf } from '../../record/sums';
import type { Sums } from '../../record/sums';
import type { Connection } from './connect';
import { packSums } from './day-sums';
import { eachFact, factsOfRow } from './fact-rows';
import type { FactRow } from './fact-rows';

const DAY_MS = 86_400_000;

/** Of a day: all, or what one owner, project ... has of it. */
interface Group {
  readonly dimension: number;
  readonly cluster: number;
  readonly word: number;
  /** Class of the job's name, instead of a number. */
  readonly name: string | null;
  readonly sums: Sums;
  readonly alone: Set<string>;
  readonly elsewhere: Set<string>;
}

const NAME_DIMENSION = 5;

function addRow(groups: Map<string, Group>, row: FactRow): void {
  const facts = factsOfRow(row);
  const [cluster, ...words] = row.keys;
  const name = row.key === null ? null : nameClass(row.key);
  for (let dimension = 0; dimension <= NAME_DIMENSION; dimension++) {
    const word = dimension === 0 || dimension === NAME_DIMENSION ? 0 : (words[dimension - 1] ?? 0);
    const its = dimension === NAME_DIMENSION ? name : null;
    const id = `${dimension} ${cluster} ${word} ${its === null ? '' : `=${its}`}`;
    let group = groups.get(id);
    if (group === undefined)
      groups.set(
        id,
        (group = { dimension, cluster, word, name: its, sums: newSums(), alone: new Set(), elsewhere: new Set() }),
      );
    addFacts(group.sums, facts, row.counted, stepsOf(DEFAULT_FAR_BELOW));
    (row.elsewhere ? group.elsewhere : group.alone).add(row.job);
  }
}

/** Sums up one day; false: nothing was to be done, or another process has done it. */
export async function rollDay(db: Connection, day: number): Promise<boolean> {
  // The marks first: a change that comes while its records are read adds another, and the day stays to be done again.
  const marks = await db.query<{ id: string }>('SELECT id FROM qmemacct.stale_day WHERE day = $1', [day]);
  if (marks.length === 0) return false;
  const groups = new Map<string, Group>();
  await eachFact(db, { since: day * DAY_MS, until: (day + 1) * DAY_MS }, 'every', (row) => addRow(groups, row));
  const packed = [...groups.values()].map(({ dimension, cluster, word, name, sums, alone, elsewhere }) => ({
    d: dimension,
    c: cluster,
    w: word,
    n: name,
    s: packSums(sums, alone, elsewhere),
  }));
  try {
    const [row] = await db.query<{ done: boolean }>(
      `SELECT qmemacct.put_rollup($1, ARRAY(SELECT m::bigint FROM jsonb_array_elements_text($2::text::jsonb) AS m),
        $3::text::jsonb) AS done`,
      [day, JSON.stringify(marks.map(({ id }) => id)), JSON.stringify(packed)],
    );
    return row?.done ?? false;
  } catch (error) {
    // Someone else has summed up the same day in the meantime.
    if (error instanceof StoreError && (error.cause as { readonly code?: string }).code === '40001') return false;
    throw error;
  }
}

/** Days to be summed up, before a day. */
export async function staleDays(db: Connection, before = 2 ** 31 - 1): Promise<readonly number[]> {
  const rows = await db.query<{ day: number }>(
    'SELECT DISTINCT day FROM qmemacct.stale_day WHERE day < $1 ORDER BY day',
    [before],
  );
  return rows.map(({ day }) => day);
}

/** Sums up the days whose records have changed since, a transaction each; resolves to how many. */
export async function rollUp(db: Connection, { signal, onProgress }: LongWork): Promise<number> {
  const days = await staleDays(db);
  let rolled = 0;
  for (const [index, day] of days.entries()) {
    if (signal?.aborted) break;
    if (await rollDay(db, day)) rolled++;
    onProgress?.(index + 1, days.length);
  }
  return rolled;
}
