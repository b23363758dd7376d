import type { Database } from 'better-sqlite3';
import { planOf, rolledQuery } from '../../sums/plan';
import { Summer } from '../../sums/summer';
import type { SummaryAnswer, SummaryQuery } from '../../summary';
import type { Words } from '../database/dictionary';
import { conditionOf } from '../read/record-filter';
import { daysOfKey } from '../read/spans';
import { FactReader } from './record-facts';
import { RolledReader, type RolledChoice } from './rolled-rows';

/** Sums over an interval, by roll-ups as far as these hold; inside one transaction. */
export function summarise(db: Database, words: Words, query: SummaryQuery): SummaryAnswer {
  const condition = conditionOf(query, words);
  const rolledReader = new RolledReader(db, words);
  const asked = condition === null ? null : rolledQuery(query);
  const plan = planOf(query, asked, asked && rolledReader.state(asked));
  const summer = new Summer(query, plan);
  if (condition === null) return summer.answer();
  const { by, since } = query;
  const { rolled } = plan;
  const facts = new FactReader(db, words, by === 'day' || by === 'cluster' ? [] : [by]);
  for (const part of rolled === null ? daysOfKey(db, condition, query) : plan.parts) {
    for (const row of facts.records(condition, part)) summer.addRecord(row);
    if (rolled !== null) summer.endPart(facts.earlier(condition, part, since));
  }
  if (rolled === null) return summer.answer();
  const { dimension, value, periods, groups } = rolled;
  const key = dimension === null || value === null ? null : words.find(dimension, value);
  const own: RolledChoice = { dimension, key, cluster: condition.cluster, periods };
  summer.addRolled(rolledReader.rows(own, true));
  summer.subtractAgain(rolledReader.again(own, since));
  if (groups !== null) {
    const others = { ...own, dimension: groups.by, periods: groups.periods };
    summer.addGroups(rolledReader.rows(others, summer.needsBins));
    summer.subtractAgainOfGroups(rolledReader.again(others, since));
  }
  return summer.answer();
}
