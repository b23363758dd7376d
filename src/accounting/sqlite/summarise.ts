import type { Database } from 'better-sqlite3';
import type { SummaryAnswer, SummaryGroup, SummaryQuery } from '../summary';
import { DIMENSIONS } from '../summary';
import { summaryAnswer, zoneOffset } from '../summary-answer';
import {
  addContribution,
  addShiftedHours,
  addTotals,
  contributionOf,
  DEFAULT_FAR_BELOW,
  newSums,
  noTotals,
  SHARE_STEPS,
  stepsOf,
  TOTALS_NAMES,
} from '../sums';
import type { MutableTotals, Sums } from '../sums';
import { addPackedBins } from './bins-codec';
import { dictionaryOf, dimensionNumber, nameClasses } from './dimensions';
import type { Words } from './dictionary';
import { factReader } from './fact-rows';
import type { FactRow, JobKey, Span } from './fact-rows';
import { rollUpAgain, rollUpByKey, rollUpRows, STALE_DAYS } from './queries';
import { conditionOf } from './record-filter';
import type { Condition } from './record-filter';
import { seenBefore } from './seen-before';
import { daysOfKey, inSpans } from './spans';
import { DAY_MS } from './stale-days';

type GroupKey = string | null;

/** What is being summed up. */
interface Board {
  readonly groups: Map<GroupKey, MutableTotals>;
  readonly totals: MutableTotals;
  readonly hours: Float64Array;
  readonly shares: Float64Array;
  readonly coverage: Float64Array;
  read: number;
}

function newBoard(): Board {
  const { totals, hours, shares, coverage } = newSums();
  return { groups: new Map(), totals, hours, shares, coverage, read: 0 };
}

function groupOf(board: Board, key: GroupKey): MutableTotals {
  const known = board.groups.get(key);
  if (known !== undefined) return known;
  const made = noTotals();
  board.groups.set(key, made);
  return made;
}

function addDay(board: Board, day: number, sums: Sums): void {
  addTotals(board.totals, sums.totals);
  addShiftedHours(board.hours, sums.hours, zoneOffset(day));
  for (const name of ['shares', 'coverage'] as const)
    sums[name].forEach((value, index) => (board[name][index] = (board[name][index] ?? 0) + value));
}

const isoDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** Under which key a record is grouped. */
function grouping(
  by: SummaryQuery['by'],
  words: Words,
): (row: Pick<FactRow, 'keys' | 'cluster'>, day: number) => GroupKey {
  if (by === 'day') return (_row, day) => isoDay(day);
  if (by === 'cluster') return ({ cluster }) => words.text('cluster', cluster);
  const index = DIMENSIONS.indexOf(by);
  const classOf = nameClasses(words);
  return ({ keys }) => {
    const id = keys[index];
    if (id == null) return null;
    return by === 'job_name' ? classOf(id) : words.text(by, id);
  };
}

/** Which of the days of an interval have sums that hold, and which parts of it are to be read. */
interface Plan {
  readonly first: number;
  readonly end: number;
  readonly read: readonly Span[];
  readonly rolled: boolean;
}

function planOf(db: Database, query: SummaryQuery, condition: Condition): Plan {
  const { since, until } = query;
  const { dimension, plain } = condition;
  const nothing = { first: 0, end: 0, read: daysOfKey(db, condition, { since, until }), rolled: false };
  const groups = dimension === null || query.by === 'day' || query.by === 'cluster' || query.by === dimension.name;
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  if (!plain || !groups || !Number.isInteger(steps) || steps > SHARE_STEPS) return nothing;
  const first = Math.ceil(since / DAY_MS);
  const end = Math.floor(until / DAY_MS);
  if (first >= end) return nothing;
  const stale = db.prepare<object, number>(STALE_DAYS).pluck().all({ first, end });
  return {
    first,
    end,
    read: inSpans([
      { since, until: first * DAY_MS },
      ...stale.map((day) => ({ since: day * DAY_MS, until: (day + 1) * DAY_MS })),
      { since: end * DAY_MS, until },
    ]),
    rolled: stale.length < end - first,
  };
}

/** Reads spans record by record, day by day. */
function readSpans(
  db: Database,
  words: Words,
  query: SummaryQuery,
  condition: Condition,
  plan: Plan,
  board: Board,
): void {
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  const keyOf = grouping(query.by, words);
  const eachFact = factReader(db, words, query.by === 'day' || query.by === 'cluster' ? [] : [query.by]);
  const seen = new Set<JobKey>();
  const seenByGroup = new Map<GroupKey, Set<JobKey>>();
  const seenIn = (key: GroupKey): Set<JobKey> => {
    const known = seenByGroup.get(key);
    if (known !== undefined) return known;
    const made = new Set<JobKey>();
    seenByGroup.set(key, made);
    return made;
  };
  let day = -1;
  let part: Span | null = null;
  let sums = newSums();
  let groups = new Map<GroupKey, Sums>();
  /** Jobs that other days of the interval have counted already. */
  const subtractSeenBefore = (span: Span): void => {
    const again = new Set<JobKey>();
    const againByGroup = new Map<GroupKey, Set<JobKey>>();
    for (const earlier of seenBefore(db, condition, span, day * DAY_MS, query.since)) {
      const { dimension } = condition;
      if (dimension !== null && earlier.keys[DIMENSIONS.indexOf(dimension.name)] !== dimension.id) continue;
      if (seen.has(earlier.job)) again.add(earlier.job);
      if (query.by === 'day') continue;
      const key = keyOf(earlier, day);
      if (!seenByGroup.get(key)?.has(earlier.job)) continue;
      againByGroup.set(key, (againByGroup.get(key) ?? new Set()).add(earlier.job));
    }
    sums.totals.jobs -= again.size;
    for (const [key, jobs] of againByGroup) {
      const group = groups.get(key);
      if (group !== undefined) group.totals.jobs -= jobs.size;
    }
  };
  const flush = (): void => {
    if (part === null) return;
    if (plan.rolled) {
      subtractSeenBefore({
        since: Math.max(part.since, day * DAY_MS),
        until: Math.min(part.until, (day + 1) * DAY_MS),
      });
      seen.clear();
      seenByGroup.clear();
    }
    addDay(board, day, sums);
    for (const [key, group] of groups) addTotals(groupOf(board, key), group.totals);
    sums = newSums();
    groups = new Map();
    part = null;
  };
  for (const span of plan.read)
    board.read += eachFact(condition, span, (row) => {
      const at = Math.floor(row.countedAt / DAY_MS);
      if (at !== day || part === null) {
        flush();
        day = at;
        part = span;
      }
      const key = keyOf(row, day);
      let group = groups.get(key);
      if (group === undefined) groups.set(key, (group = newSums()));
      const contribution = contributionOf(row.facts, row.countedAt);
      addContribution(sums, contribution, steps);
      addContribution(group, contribution, steps);
      if (!seen.has(row.job)) {
        seen.add(row.job);
        sums.totals.jobs++;
      }
      const jobs = seenIn(key);
      if (!jobs.has(row.job)) {
        jobs.add(row.job);
        group.totals.jobs++;
      }
    });
  flush();
}

type RollUpRow = readonly [number, number, number, Buffer, ...number[]];

function totalsOf(row: RollUpRow): MutableTotals {
  return Object.fromEntries(TOTALS_NAMES.map((name, index) => [name, row[index + 4] ?? 0])) as MutableTotals;
}

/** Adds the roll-ups of the days that have one that holds. */
function addRolled(
  db: Database,
  words: Words,
  query: SummaryQuery,
  condition: Condition,
  plan: Plan,
  board: Board,
): void {
  const { by } = query;
  const { dimension, cluster } = condition;
  const farBelow = query.far_below ?? DEFAULT_FAR_BELOW;
  const steps = stepsOf(farBelow);
  const choice = { key: dimension !== null, cluster: cluster !== null };
  const parameters = { first: plan.first, end: plan.end, key: dimension?.id ?? null, cluster, since: query.since };
  const rows = (sql: string, of: number): RollUpRow[] =>
    db
      .prepare<object, RollUpRow>(sql)
      .raw()
      .all({ ...parameters, dimension: of });
  const again = (sql: string, of: number): [number, number, number][] =>
    db
      .prepare<object, [number, number, number]>(sql)
      .raw()
      .all({ ...parameters, dimension: of });
  const own = dimension === null ? 0 : dimensionNumber(dimension.name);
  const ownGroup = (day: number | null, key: number, clusterId: number): GroupKey => {
    if (by === 'day') return day === null ? null : isoDay(day);
    if (by === 'cluster') return words.text('cluster', clusterId);
    return key === 0 ? null : words.text(dictionaryOf(by), key);
  };
  const separate = by !== 'day' && by !== 'cluster' && dimension === null;
  const withBins = (row: RollUpRow): Sums => {
    const sums = { ...newSums(), totals: totalsOf(row) };
    addPackedBins(sums, row[3]);
    if (steps !== stepsOf(DEFAULT_FAR_BELOW))
      sums.totals.far_below = sums.shares.slice(0, steps).reduce((sum, count) => sum + count, 0);
    return sums;
  };
  for (const row of rows(rollUpRows(choice), own)) {
    const sums = withBins(row);
    addDay(board, row[0], sums);
    if (!separate) addTotals(groupOf(board, ownGroup(row[0], row[1], row[2])), sums.totals);
  }
  for (const [key, clusterId, jobs] of again(rollUpAgain(choice), own)) {
    board.totals.jobs -= jobs;
    if (!separate && by !== 'day') groupOf(board, ownGroup(null, key, clusterId)).jobs -= jobs;
  }
  if (!separate) return;
  const of = dimensionNumber(by);
  const plainShare = steps === stepsOf(DEFAULT_FAR_BELOW);
  for (const row of rows((plainShare ? rollUpByKey : rollUpRows)(choice), of))
    addTotals(groupOf(board, ownGroup(null, row[1], 0)), plainShare ? totalsOf(row) : withBins(row).totals);
  for (const [key, , jobs] of again(rollUpAgain(choice), of)) groupOf(board, ownGroup(null, key, 0)).jobs -= jobs;
}

/** Sums over an interval, by roll-ups as far as these hold; inside one transaction. */
export function summarise(db: Database, words: Words, query: SummaryQuery): SummaryAnswer {
  const board = newBoard();
  const condition = conditionOf(query, words);
  if (condition !== null) {
    const plan = planOf(db, query, condition);
    readSpans(db, words, query, condition, plan, board);
    if (plan.rolled) addRolled(db, words, query, condition, plan, board);
  }
  const groups = [...board.groups].map(([key, totals]): SummaryGroup => ({ key, totals }));
  return summaryAnswer({ ...board, groups }, query);
}
