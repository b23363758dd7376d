import { addTotals } from '../../record/totals';
import type { Database } from 'better-sqlite3';
import { DIMENSIONS } from '../summary';
import type { SummaryQuery } from '../summary';
import { addContribution, contributionOf, DEFAULT_FAR_BELOW, newSums, stepsOf } from '../../record/sums';
import type { Sums } from '../../record/sums';
import { nameClasses } from './dimensions';
import type { Words } from './dictionary';
import { factReader } from './fact-rows';
import type { FactRow, JobKey, Span } from './fact-rows';
import type { Condition } from './record-filter';
import { seenBefore } from './seen-before';
import { DAY_MS } from './stale-days';
import { addDay, groupOf, isoDay } from './summary-board';
import type { Board, GroupKey } from './summary-board';
import type { Plan } from './summary-plan';

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

/** Reads spans record by record, day by day. */
export function readSpans(
  db: Database,
  words: Words,
  query: SummaryQuery,
  condition: Condition,
  plan: Plan,
  board: Board,
): void {
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  const keyOf = grouping(query.by, words);
  const eachFact = factReader(db, query.by === 'day' || query.by === 'cluster' ? [] : [query.by]);
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
