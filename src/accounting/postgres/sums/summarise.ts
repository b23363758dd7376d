import { DIMENSIONS, type SummaryAnswer, type SummaryQuery } from '../../summary';
import type { KeptHours } from '../../sums/kept-hours';
import { PartsSum } from '../../sums/parts';
import { dayOf } from '../../sums/periods';
import { byWholePrunedDays, planOf, rolledQuery } from '../../sums/plan';
import { SummaryBuilder } from '../../sums/summer';
import type { Snapshot } from '../snapshot';
import { FactReader } from './record-facts';
import { RolledReader, type RolledChoice } from './rolled-rows';

async function betweenDays({ db, source }: Snapshot, query: SummaryQuery): Promise<SummaryQuery> {
  if (!source.all || rolledQuery(query) === null) return query;
  const pruned = await db.rows<[number]>('SELECT day FROM qmemacct.pruned_day WHERE day IN ($1, $2)', [
    dayOf(query.since),
    dayOf(query.until),
  ]);
  return byWholePrunedDays(
    query,
    pruned.map(([day]) => day),
  );
}

/** Sums over an interval: from roll-ups if the role sees all records, as far as the roll-ups are up to date. */
export async function summarise(snapshot: Snapshot, wanted: SummaryQuery, kept: KeptHours): Promise<SummaryAnswer> {
  const query = await betweenDays(snapshot, wanted);
  const { by, since, cluster = null } = query;
  const unsettled = await snapshot.unsettled(query);
  const rolledReader = new RolledReader(snapshot.db);
  const asked = snapshot.source.all ? rolledQuery(query) : null;
  const plan = planOf(query, asked, asked && (await rolledReader.state(asked, unsettled.days)));
  const summer = new SummaryBuilder(query, plan);
  const { rolled } = plan;
  const facts = new FactReader(snapshot, unsettled, query, by === 'day' || by === 'cluster' ? [] : [by]);
  if (rolled === null) {
    for (const part of plan.parts)
      for await (const rows of facts.records(part)) for (const row of rows) summer.addRecord(row);
    return summer.answer();
  }
  const every = new FactReader(snapshot, unsettled, { since, until: query.until }, DIMENSIONS);
  // With an owner, `unsettled` covers only that owner's jobs, so hours made with it can't be kept.
  const change = query.owner === undefined ? snapshot.number : null;
  const changes = await rolledReader.changes(query, { hours: unsettled.hours, change });
  for (const reading of new PartsSum(query, plan, summer).readings(kept, changes)) {
    const reader = reading.all ? every : facts;
    if (reading.what === 'earlier') (await reader.earlier(reading.span, reading.since)).forEach(reading.add);
    else for await (const rows of reader.records(reading.span)) rows.forEach(reading.add);
  }
  const { set, key, periods, groups } = rolled;
  const own: RolledChoice = { set, key, within: null, cluster, periods };
  summer.addRolled(await rolledReader.rows(own));
  summer.subtractAgain(await rolledReader.again(own, since));
  if (groups !== null) {
    const others = { ...own, ...groups, key: null, within: key };
    summer.addGroups(await rolledReader.totals(others));
    summer.subtractAgainOfGroups(await rolledReader.again(others, since));
  }
  return summer.answer();
}
