import { TOTALS_NAMES } from '../../record/totals';
import type { Database } from 'better-sqlite3';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LongWork } from '../history-store';
import { DIMENSIONS } from '../summary';
import { addContribution, contributionOf, DEFAULT_FAR_BELOW, newSums, stepsOf } from '../../record/sums';
import type { Sums } from '../../record/sums';
import { binCells } from './bins';
import { nameClasses } from './dimensions';
import type { Words } from './dictionary';
import { factReader } from './fact-rows';
import type { JobKey } from './fact-rows';
import { INSERT_AGAIN, INSERT_ROLLUP } from './queries';
import type { Condition } from './record-filter';
import { seenBefore } from './seen-before';
import { DAY_MS } from './stale-days';

const EVERY_RECORD: Condition = {
  sql: '',
  parameters: {},
  dimension: null,
  claimed: false,
  plain: true,
  cluster: null,
  byOwner: false,
  sparse: null,
};
const MOST_CLUSTERS = 2 ** 16;
/** Writers that wait for the lock ask again every 100 ms at most (SQLite); so much of the time is theirs. */
const PAUSE_SHARE = 0.2;
const LEAST_PAUSE_MS = 2;

interface Group {
  readonly dimension: number;
  readonly key: number;
  readonly cluster: number;
  readonly sums: Sums;
}

/** After a transaction: the others' turn. */
export async function pauseAfter(beganMs: number): Promise<void> {
  await sleep(Math.max(LEAST_PAUSE_MS, (performance.now() - beganMs) * PAUSE_SHARE));
}

/** A step that sums the records of a day up; inside a write transaction. */
export function dayRoller(db: Database, words: Words): (day: number) => void {
  const eachFact = factReader(db, DIMENSIONS);
  const insert = db.prepare(INSERT_ROLLUP);
  const insertAgain = db.prepare<number[]>(INSERT_AGAIN);
  const removals = [
    'DELETE FROM rollup WHERE dimension BETWEEN 0 AND 5 AND day = ?',
    'DELETE FROM rollup_again WHERE dimension BETWEEN 0 AND 5 AND day = ?',
    'DELETE FROM stale_day WHERE day = ?',
  ].map((sql) => db.prepare<[number]>(sql));
  const classOf = nameClasses(words);
  const steps = stepsOf(DEFAULT_FAR_BELOW);
  const keysOf = ([owner, project, queue, host, name]: readonly (number | null)[]): readonly number[] => [
    0,
    owner ?? 0,
    project ?? 0,
    queue ?? 0,
    host ?? 0,
    name == null ? 0 : words.intern('name_class', classOf(name)),
  ];
  return (day) => {
    const span = { since: day * DAY_MS, until: (day + 1) * DAY_MS };
    const groups = Array.from({ length: DIMENSIONS.length + 1 }, () => new Map<number, Group>());
    const place = (key: number, cluster: number): number => key * MOST_CLUSTERS + cluster;
    const groupsOf = new Map<JobKey, Group[]>();
    eachFact(EVERY_RECORD, span, ({ facts, countedAt, cluster, job, keys }) => {
      const contribution = contributionOf(facts, countedAt);
      const known = groupsOf.get(job);
      const own: Group[] = known ?? [];
      if (known === undefined) groupsOf.set(job, own);
      for (const [dimension, key] of keysOf(keys).entries()) {
        const present = groups[dimension]?.get(place(key, cluster));
        const group = present ?? { dimension, key, cluster, sums: newSums() };
        if (present === undefined) groups[dimension]?.set(place(key, cluster), group);
        addContribution(group.sums, contribution, steps);
        if (known?.includes(group)) continue;
        own.push(group);
        group.sums.totals.jobs++;
      }
    });
    for (const removal of removals) removal.run(day);
    for (const { dimension, key, cluster, sums } of groups.flatMap((ofDimension) => [...ofDimension.values()]))
      insert.run(dimension, day, key, cluster, ...binCells(sums), ...TOTALS_NAMES.map((name) => sums.totals[name]));
    const again = new Map<string, { readonly group: Group; readonly at: number }>();
    for (const { cluster, job, keys, at } of seenBefore(db, EVERY_RECORD, span, span.since, 0))
      for (const [dimension, key] of keysOf(keys).entries()) {
        const group = groups[dimension]?.get(place(key, cluster));
        if (group === undefined || !groupsOf.get(job)?.includes(group)) continue;
        const name = `${dimension} ${key} ${job}`;
        if ((again.get(name)?.at ?? -1) < at) again.set(name, { group, at });
      }
    for (const { group, at } of again.values()) insertAgain.run(group.dimension, day, group.key, group.cluster, at);
  };
}

/** Sums up the days whose records have changed since, a transaction each; resolves to how many. */
export async function rollUp(db: Database, words: Words, { signal, onProgress }: LongWork): Promise<number> {
  const roll = dayRoller(db, words);
  const stillStale = db.prepare<[number]>('SELECT 1 FROM stale_day WHERE day = ?');
  const step = db.transaction((day: number) => {
    if (stillStale.get(day) === undefined) return false;
    roll(day);
    return true;
  });
  const days = db.prepare<[], number>('SELECT day FROM stale_day ORDER BY day').pluck().all();
  let rolled = 0;
  for (const [index, day] of days.entries()) {
    if (signal?.aborted) break;
    const began = performance.now();
    try {
      if (step.immediate(day)) rolled++;
    } catch (error) {
      words.forget();
      throw error;
    }
    onProgress?.(index + 1, days.length);
    await pauseAfter(began);
  }
  return rolled;
}
