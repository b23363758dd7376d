import type { SummaryAnswer, SummaryQuery } from '../../summary';
import { planOf, rolledQuery } from '../../sums/plan';
import { Summer } from '../../sums/summer';
import type { Snapshot } from '../snapshot';
import { FactReader } from './record-facts';
import { RolledReader, type RolledChoice } from './rolled-rows';

/** Sums over an interval, by roll-ups as far as these hold, and as far as the role sees all. */
export async function summarise(snapshot: Snapshot, query: SummaryQuery): Promise<SummaryAnswer> {
  const { by, since, cluster = null } = query;
  const unsettled = await snapshot.unsettled(query);
  const rolledReader = new RolledReader(snapshot.db);
  const asked = snapshot.source.all ? rolledQuery(query) : null;
  const plan = planOf(query, asked, asked && (await rolledReader.state(asked, unsettled.days)));
  const summer = new Summer(query, plan);
  const { rolled } = plan;
  const facts = new FactReader(snapshot, unsettled, query, by === 'day' || by === 'cluster' ? [] : [by]);
  for (const part of plan.parts) {
    for await (const rows of facts.records(part)) for (const row of rows) summer.addRecord(row);
    if (rolled !== null) summer.endPart(await facts.earlier(part, since));
  }
  if (rolled === null) return summer.answer();
  const { set, key, periods, groups } = rolled;
  const own: RolledChoice = { set, key, within: null, cluster, periods };
  summer.addRolled(await rolledReader.rows(own, true));
  summer.subtractAgain(await rolledReader.again(own, since));
  if (groups !== null) {
    const others = { ...own, ...groups, key: null, within: key };
    summer.addGroups(await rolledReader.rows(others, summer.needsBins));
    summer.subtractAgainOfGroups(await rolledReader.again(others, since));
  }
  return summer.answer();
}
