import { addTotals, noTotals, type MutableTotals } from '../../record/totals';
import { isHostPattern } from '../host-pattern';
import { nameClass } from '../../record/name-class';
import { DIMENSIONS, type Dimension } from '../summary';
import type { SummaryAnswer, SummaryGroup, SummaryQuery } from '../summary';
import { summaryAnswer, zoneOffset } from '../summary-answer';
import { addFacts, addShiftedHours, DEFAULT_FAR_BELOW, newSums, SHARE_STEPS, stepsOf } from '../../record/sums';
import type { Sums } from '../../record/sums';
import type { Value } from './connect';
import { ROLLED_COLUMNS, unpackSums, type RolledRow } from './day-sums';
import { eachFact } from './fact-rows';
import type { Snapshot, Unsettled } from './snapshot';

const DAY_MS = 86_400_000;

type GroupKey = string | null;

/** Sums of which the jobs are told apart: by number where they were seen on one day only, else by name. */
class Tally {
  readonly totals: MutableTotals = noTotals();
  readonly jobs = new Set<string>();
  single = 0;
  /** With the jobs counted. */
  counted(): MutableTotals {
    return { ...this.totals, jobs: this.single + this.jobs.size };
  }
}

interface Board {
  readonly all: Tally;
  readonly groups: Map<GroupKey, Tally>;
  readonly hours: Float64Array;
  readonly shares: Float64Array;
  readonly coverage: Float64Array;
}

function newBoard(): Board {
  const { hours, shares, coverage } = newSums();
  return { all: new Tally(), groups: new Map(), hours, shares, coverage };
}

function groupOf(board: Board, key: GroupKey): Tally {
  const known = board.groups.get(key);
  if (known !== undefined) return known;
  const made = new Tally();
  board.groups.set(key, made);
  return made;
}

function addDay(board: Board, day: number, sums: Sums): void {
  addTotals(board.all.totals, sums.totals);
  addShiftedHours(board.hours, sums.hours, zoneOffset(day));
  for (const name of ['shares', 'coverage'] as const)
    sums[name].forEach((value, index) => (board[name][index] = (board[name][index] ?? 0) + value));
}

const isoDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

interface Span {
  readonly since: number;
  readonly until: number;
}

/** Which whole days may be taken from roll-ups, by which dimension, and what is to be read. */
interface Plan {
  readonly read: readonly Span[];
  readonly rolled: {
    readonly first: number;
    readonly end: number;
    readonly own: number;
    readonly value: string | null;
    /** Days that are read. */
    readonly stale: ReadonlySet<number>;
  } | null;
}

/** What a filter may hold beside one dimension, and be answered from roll-ups. */
const BESIDE = new Set(['since', 'until', 'cluster', 'by', 'sort', 'limit', 'far_below']);

async function planOf({ db, source }: Snapshot, unsettled: Unsettled, query: SummaryQuery): Promise<Plan> {
  const { since, until, by } = query;
  const readAll = { read: [{ since, until }], rolled: null };
  const asked = Object.entries(query).filter(([name, value]) => value !== undefined && !BESIDE.has(name));
  const [dimension] = asked;
  const name = DIMENSIONS.find((known) => known === dimension?.[0] && known !== 'job_name');
  if (asked.length > 1 || (dimension !== undefined && name === undefined)) return readAll;
  if (name === 'host' && isHostPattern(String(dimension?.[1]))) return readAll;
  if (name !== undefined && by !== 'day' && by !== 'cluster' && by !== name) return readAll;
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  if (!Number.isInteger(steps) || steps > SHARE_STEPS) return readAll;
  const first = Math.ceil(since / DAY_MS);
  const end = Math.floor(until / DAY_MS);
  if (first >= end) return readAll;
  if (!source.all) return readAll;
  const [pruned] = await db.rows<[number]>('SELECT before_day FROM qmemacct.pruned');
  const marked = await db.rows<[number]>('SELECT day FROM qmemacct.stale_day WHERE day >= $1 AND day < $2', [
    first,
    end,
  ]);
  const stale = [...new Set([...marked.map(([day]) => day), ...unsettled.days])]
    .filter((day) => day >= first && day < end && day >= (pruned?.[0] ?? 0))
    .sort((a, b) => a - b);
  const parts = [
    { since, until: first * DAY_MS },
    ...stale.map((day) => ({ since: day * DAY_MS, until: (day + 1) * DAY_MS })),
    { since: end * DAY_MS, until },
  ];
  const value = dimension === undefined ? null : String(dimension[1]);
  const own = name === undefined ? 0 : DIMENSIONS.indexOf(name) + 1;
  return {
    read: parts.filter((part) => part.since < part.until),
    rolled: { first, end, own, value, stale: new Set(stale) },
  };
}

async function readSpan(
  snapshot: Snapshot,
  unsettled: Unsettled,
  query: SummaryQuery,
  span: Span,
  board: Board,
): Promise<number> {
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  let day = 0;
  let ofDay = new Map<GroupKey, Sums>();
  const flush = (): void => {
    for (const [key, sums] of ofDay) {
      addTotals(groupOf(board, key).totals, sums.totals);
      addDay(board, day, sums);
    }
    ofDay = new Map();
  };
  const dimensions = query.by === 'day' || query.by === 'cluster' ? [] : [query.by];
  const read = await eachFact(snapshot, unsettled, { ...query, ...span }, dimensions, (row) => {
    const at = Math.floor(row.countedAt / DAY_MS);
    if (at !== day) flush();
    day = at;
    const word = dimensions.length === 0 ? row.cluster : (row.keys[DIMENSIONS.indexOf(query.by as Dimension)] ?? null);
    const named = query.by === 'job_name' && word !== null ? nameClass(word) : word;
    const key = query.by === 'day' ? isoDay(day) : named;
    let sums = ofDay.get(key);
    if (sums === undefined) ofDay.set(key, (sums = newSums()));
    addFacts(sums, row.facts, row.countedAt, steps);
    groupOf(board, key).jobs.add(row.job);
    board.all.jobs.add(row.job);
  });
  flush();
  return read;
}

async function addRolled(
  { db }: Snapshot,
  query: SummaryQuery,
  plan: NonNullable<Plan['rolled']>,
  board: Board,
): Promise<void> {
  const { by, cluster = null } = query;
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  const rows = async (dimension: number): Promise<readonly RolledRow[]> => {
    const values: Value[] = [dimension, plan.first, plan.end, plan.value, cluster];
    const found = await db.rows<RolledRow>(
      `SELECT ${ROLLED_COLUMNS} FROM qmemacct.rollup WHERE dimension = $1 AND day >= $2 AND day < $3
         AND ($4::text IS NULL OR key = $4) AND ($5::text IS NULL OR cluster = $5)`,
      values,
    );
    return found.filter(([day]) => !plan.stale.has(day));
  };
  const sumsOf = (row: RolledRow): Sums => {
    const { sums } = unpackSums(row);
    if (steps !== stepsOf(DEFAULT_FAR_BELOW))
      sums.totals.far_below = sums.shares.slice(0, steps).reduce((sum, count) => sum + count, 0);
    return sums;
  };
  const addTo = (tally: Tally, row: RolledRow, totals: MutableTotals | null): void => {
    if (totals !== null) addTotals(tally.totals, totals);
    const { alone, elsewhere } = unpackSums(row);
    tally.single += alone;
    for (const job of elsewhere) tally.jobs.add(job);
  };
  const separate = by !== 'day' && by !== 'cluster' && plan.own === 0;
  for (const row of await rows(plan.own)) {
    const sums = sumsOf(row);
    addDay(board, row[0], sums);
    addTo(board.all, row, null);
    if (separate) continue;
    const key = by === 'day' ? isoDay(row[0]) : by === 'cluster' ? row[1] : row[2] || null;
    addTo(groupOf(board, key), row, sums.totals);
  }
  if (!separate) return;
  for (const row of await rows(DIMENSIONS.indexOf(by) + 1))
    addTo(groupOf(board, row[2] || null), row, sumsOf(row).totals);
}

/** Sums over an interval: of days that are summed up from their roll-ups, else from the records. */
export async function summarise(snapshot: Snapshot, query: SummaryQuery): Promise<SummaryAnswer> {
  const board = newBoard();
  const unsettled = await snapshot.unsettled(query);
  const plan = await planOf(snapshot, unsettled, query);
  let read = 0;
  for (const span of plan.read) read += await readSpan(snapshot, unsettled, query, span, board);
  if (plan.rolled !== null) await addRolled(snapshot, query, plan.rolled, board);
  const groups = [...board.groups].map(([key, tally]): SummaryGroup => ({ key, totals: tally.counted() }));
  return summaryAnswer({ ...board, totals: board.all.counted(), groups, read }, query);
}
