import type { Database } from 'better-sqlite3';
import { SELF_REPORTED } from '../../sums/fact-columns';
import { KeptHours } from '../../sums/kept-hours';
import { PartsSum } from '../../sums/parts';
import { dayOf } from '../../sums/periods';
import { byWholePrunedDays, planOf, rolledQuery } from '../../sums/plan';
import { SummaryBuilder } from '../../sums/summer';
import { DIMENSIONS, type SummaryAnswer, type SummaryQuery } from '../../summary';
import type { Words } from '../database/dictionary';
import { prepared } from '../database/prepared';
import { conditionOf, EVERY_RECORD } from '../read/record-filter';
import { daysOfKey } from '../read/spans';
import { FactReader } from './record-facts';
import { newKeptRows, RolledReader, type RolledChoice } from './rolled-rows';

const ANY_SELF_REPORTED = `SELECT EXISTS (SELECT 1 FROM record
  WHERE trust = ${SELF_REPORTED} AND counted_at >= @since AND counted_at < @until)`;

/** Roll-ups have no self-reported records; so a query that includes these need not, if the interval has none. */
function withoutNeedlessClaims(db: Database, query: SummaryQuery): SummaryQuery {
  if (query.self_reported !== true) return query;
  const { since, until } = query;
  const any = prepared<object, number>(db, ANY_SELF_REPORTED, 'pluck').get({ since, until });
  return any === 0 ? { ...query, self_reported: false } : query;
}

const PRUNED = 'SELECT day FROM pruned_day WHERE day IN (@first, @last)';

function betweenDays(db: Database, query: SummaryQuery): SummaryQuery {
  if (rolledQuery(query) === null) return query;
  const ends = { first: dayOf(query.since), last: dayOf(query.until) };
  return byWholePrunedDays(query, prepared<object, number>(db, PRUNED, 'pluck').all(ends));
}

/** Only the groups that the answer lists: for each group all its totals of every period must be read. */
function listedOnly(groups: RolledChoice, summer: SummaryBuilder, reader: RolledReader): RolledChoice {
  const { chosenBy } = summer;
  if (chosenBy === null) return groups;
  const values = [...reader.values(groups, chosenBy)];
  const listed = summer.keepListed(
    chosenBy,
    values.map(([, key, value]) => [key, value]),
  );
  return { ...groups, keys: [...new Set(values.flatMap(([number, key]) => (listed.has(key) ? [number] : [])))] };
}

const newKept = () => ({ hours: new KeptHours(), rows: newKeptRows() });

const keptOf = new WeakMap<Database, ReturnType<typeof newKept>>();

/** Sums over an interval, from roll-ups as far as they are up to date; call it inside one transaction. */
export function summarise(db: Database, words: Words, wanted: SummaryQuery): SummaryAnswer {
  const query = betweenDays(db, withoutNeedlessClaims(db, wanted));
  const condition = conditionOf(query, words);
  const kept = keptOf.get(db) ?? newKept();
  keptOf.set(db, kept);
  const rolledReader = new RolledReader(db, words, kept.rows);
  const days = condition === null ? null : rolledQuery(query);
  const plan = planOf(query, days, days && rolledReader.state(days));
  const summer = new SummaryBuilder(query, plan);
  if (condition === null) return summer.answer();
  const { by, since } = query;
  const { rolled } = plan;
  // If only the totals are wanted, there are no groups.
  const ungrouped = by === 'day' || by === 'cluster' || query.limit === 0;
  const facts = new FactReader(db, words, ungrouped ? [] : [by]);
  if (rolled === null) {
    for (const part of [...daysOfKey(db, condition, query)].toReversed())
      for (const row of facts.records(condition, part)) summer.addRecord(row);
    return summer.answer();
  }
  const every = new FactReader(db, words, DIMENSIONS);
  const parts = new PartsSum(query, plan, summer);
  const changes = rolledReader.changes(query);
  for (const reading of parts.readings(kept.hours, changes)) {
    const [reader, which] = reading.all ? [every, EVERY_RECORD] : [facts, condition];
    if (reading.what === 'records') for (const row of reader.records(which, reading.span)) reading.add(row);
    else for (const row of reader.earlier(which, reading.span, reading.since)) reading.add(row);
  }
  const { set, key, periods, groups } = rolled;
  const keys = key === null ? null : rolledReader.numbersOf(set, key);
  const own: RolledChoice = {
    set,
    keys,
    cluster: condition.cluster,
    periods,
    change: [...changes.days.values()].join(),
  };
  summer.addRolled(rolledReader.rows(own));
  summer.subtractAgain(rolledReader.again(own, since));
  if (groups !== null) {
    const within = key === null ? null : rolledReader.numbersWithin(groups.set, key);
    const others = listedOnly({ ...own, ...groups, keys: within }, summer, rolledReader);
    summer.addGroups(rolledReader.totals(others));
    summer.subtractAgainOfGroups(rolledReader.again(others, since));
  }
  return summer.answer();
}
