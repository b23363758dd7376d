import { addTotals, noTotals, type MutableTotals } from '../../record/totals';
import { isHostPattern } from '../host-pattern';
import { nameClass } from '../../record/name-class';
import { DIMENSIONS } from '../summary';
import type { SummaryAnswer, SummaryGroup, SummaryQuery } from '../summary';
import { summaryAnswer, zoneOffset } from '../summary-answer';
import { addFacts, addShiftedHours, DEFAULT_FAR_BELOW, newSums, SHARE_STEPS, stepsOf } from '../../record/sums';
import type { Sums } from '../../record/sums';
import type { Connection } from './connect';
import { unpackSums } from './day-sums';
import type { PackedSums } from './day-sums';
import { eachFact, factsOfRow } from './fact-rows';

const DAY_MS = 86_400_000;

type GroupKey = string | null;
type Db = Pick<Connection, 'query'>;

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
  } | null;
}

/** What a filter may hold beside one dimension, and be answered from roll-ups. */
const BESIDE = new Set(['since', 'until', 'cluster', 'by', 'sort', 'limit', 'far_below']);

async function planOf(db: Db, query: SummaryQuery): Promise<Plan> {
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
  const [sight] = await db.query<{ all: boolean }>('SELECT qmemacct.sees_all() AS all');
  if (!sight?.all) return readAll;
  const stale = await db.query<{ day: number }>('SELECT qmemacct.read_stale_days($1, $2) AS day', [first, end]);
  const parts = [
    { since, until: first * DAY_MS },
    ...stale.map(({ day }) => ({ since: day * DAY_MS, until: (day + 1) * DAY_MS })),
    { since: end * DAY_MS, until },
  ];
  const value = dimension === undefined ? null : String(dimension[1]);
  const own = name === undefined ? 0 : DIMENSIONS.indexOf(name) + 1;
  return { read: parts.filter((part) => part.since < part.until), rolled: { first, end, own, value } };
}

async function readSpan(db: Db, query: SummaryQuery, span: Span, board: Board): Promise<number> {
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
  const read = await eachFact(db, { ...query, ...span }, query.by, (row) => {
    const at = Math.floor(row.counted / DAY_MS);
    if (at !== day) flush();
    day = at;
    const named = query.by === 'job_name' && row.key !== null ? nameClass(row.key) : row.key;
    const key = query.by === 'day' ? isoDay(day) : named;
    let sums = ofDay.get(key);
    if (sums === undefined) ofDay.set(key, (sums = newSums()));
    addFacts(sums, factsOfRow(row), row.counted, steps);
    groupOf(board, key).jobs.add(row.job);
    board.all.jobs.add(row.job);
  });
  flush();
  return read;
}

interface RolledRow {
  readonly day: number;
  readonly key: string | null;
  readonly cluster: string;
  readonly sums: PackedSums;
}

async function addRolled(db: Db, query: SummaryQuery, plan: NonNullable<Plan['rolled']>, board: Board): Promise<void> {
  const { by, cluster = null } = query;
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  const rows = (dimension: number): Promise<readonly RolledRow[]> =>
    db.query<RolledRow>('SELECT * FROM qmemacct.read_rollup($1, $2, $3, $4, $5)', [
      dimension,
      plan.value,
      cluster,
      plan.first,
      plan.end,
    ]);
  const sumsOf = ({ sums: packed }: RolledRow): Sums => {
    const sums = unpackSums(packed);
    if (steps !== stepsOf(DEFAULT_FAR_BELOW))
      sums.totals.far_below = sums.shares.slice(0, steps).reduce((sum, count) => sum + count, 0);
    return sums;
  };
  const addTo = (tally: Tally, { sums: packed }: RolledRow, totals: MutableTotals | null): void => {
    if (totals !== null) addTotals(tally.totals, totals);
    tally.single += packed.j;
    for (const job of packed.l) tally.jobs.add(job);
  };
  const separate = by !== 'day' && by !== 'cluster' && plan.own === 0;
  for (const row of await rows(plan.own)) {
    const sums = sumsOf(row);
    addDay(board, row.day, sums);
    addTo(board.all, row, null);
    if (separate) continue;
    const key = by === 'day' ? isoDay(row.day) : by === 'cluster' ? row.cluster : row.key;
    addTo(groupOf(board, key), row, sums.totals);
  }
  if (!separate) return;
  for (const row of await rows(DIMENSIONS.indexOf(by) + 1)) addTo(groupOf(board, row.key), row, sumsOf(row).totals);
}

/** Sums over an interval: of days that are summed up from their roll-ups, else from the records. In one snapshot. */
export async function summarise(db: Db, query: SummaryQuery): Promise<SummaryAnswer> {
  const board = newBoard();
  const plan = await planOf(db, query);
  let read = 0;
  for (const span of plan.read) read += await readSpan(db, query, span, board);
  if (plan.rolled !== null) await addRolled(db, query, plan.rolled, board);
  const groups = [...board.groups].map(([key, tally]): SummaryGroup => ({ key, totals: tally.counted() }));
  return summaryAnswer({ ...board, totals: board.all.counted(), groups, read }, query);
}
