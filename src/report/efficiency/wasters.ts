import type { SummaryAnswer, SummaryGroup } from '../../accounting/summary';
import { recordKeyText, type JobRecord } from '../../record/record';
import type { Totals } from '../../record/totals';
import type { ClassHistory } from '../advice/class-history';
import { unusedGibHours } from '../records/unused';
import { askForDays, READ_PER_LIST, recordsOn, whereToLook, type Asked, type Days, type ReportReader } from './ask';
import type { HeavyDays } from './heavy-days';
import { couldAskForLess, lineOfName, type NameFound } from './job-line';
import { isNamed, type JobLine, type JobList, type Waster } from './report';
import { fittingOf, toSums } from './sums';
import { withWholeJobs, type WholeJobs } from './whole-jobs';

const WASTERS = 10;
/** At most so many lines for a waster that the report names, and in a list; any other waster has one line. */
const NAMES_OF_A_WASTER = 3;
export const NAMES_OF_A_LIST = 10;
/** Records read for one name: those with the largest waste, and those with the highest peaks. */
const LARGEST = 30;
const HIGHEST = 20;
/** As READ_PER_LIST. */
const READ_PER_WASTER = 2_000;

interface NameSums extends Omit<NameFound, keyof WholeJobs | 'prediction'> {
  readonly where: HeavyDays;
}

/** A waster: on which days its jobs were searched for, their names, and the names to show. */
interface Searched {
  readonly waster: Omit<Waster, 'jobs'>;
  readonly where: HeavyDays;
  readonly names: readonly NameSums[];
  readonly shown: readonly NameSums[];
}

/** Sums of an owner's jobs by name, the largest waste first. */
async function askForNames(
  reader: ReportReader,
  where: HeavyDays,
  owner: string,
  all: Asked,
): Promise<readonly NameSums[]> {
  const names = new Map<string, NameSums>();
  for (const span of where.spans)
    for (const { key, totals } of (await reader.summary({ ...all, ...span, owner, by: 'job_name' })).groups) {
      if (key === null) continue;
      const known = names.get(key);
      names.set(key, {
        name: key,
        owner,
        where,
        all: totals.records + (known?.all ?? 0),
        jobs: totals.jobs + (known?.jobs ?? 0),
        failed: totals.failed + (known?.failed ?? 0),
        far_below: totals.far_below + (known?.far_below ?? 0),
        waste_gib_hours: unusedGibHours(totals) + (known?.waste_gib_hours ?? 0),
      });
    }
  return largestWaste([...names.values()].filter(({ waste_gib_hours: waste }) => waste > 0));
}

const largestWaste = (names: readonly NameSums[]): readonly NameSums[] =>
  names.toSorted((a, b) => b.waste_gib_hours - a.waste_gib_hours);

/** Records of a name: those that wasted most, and, where these are not all, those with the highest peaks. */
async function askForSome(reader: ReportReader, all: Asked, { where, owner, name }: NameSums): Promise<WholeJobs> {
  const chosen = { ...all, owner, name_class: name };
  const largest = await recordsOn(reader, where, { ...chosen, sort: 'unused' }, LARGEST);
  const highest = largest.cut ? await recordsOn(reader, where, { ...chosen, sort: 'peak' }, HIGHEST) : { records: [] };
  const ended = [...largest.records, ...highest.records].filter(({ status }) => status !== 'running');
  const unique = new Map(ended.map((record) => [recordKeyText(record), record]));
  return withWholeJobs(reader, [...unique.values()]);
}

const mostlyFarBelow = ({ far_below: far, all }: NameSums): boolean => far > 0 && far * 2 >= all;

/** All days that were searched; null: every day. */
function daysOf(places: readonly HeavyDays[]): readonly string[] | null {
  const days = [...new Set(places.flatMap(({ days: some }) => some ?? []))].sort();
  return days.length === 0 ? null : days;
}

/** Sums of all jobs, and by owner: of the period, and of its unfinished last day; and what its days weigh. */
interface OwnerSums {
  readonly site: Totals;
  readonly owners: readonly SummaryGroup[];
  readonly today: SummaryAnswer | null;
  readonly days: Days;
}

/** The ten owners that wasted most. */
async function searchWasters(
  reader: ReportReader,
  all: Asked,
  { site, owners, today, days }: OwnerSums,
): Promise<readonly Searched[]> {
  const alone = all.owner !== undefined;
  const fitting = fittingOf(site);
  const wasteOfAll = unusedGibHours(site);
  const largest = owners
    .flatMap(({ key, totals }) => (key !== null && unusedGibHours(totals) > 0 ? [{ name: key, totals }] : []))
    .sort((a, b) => unusedGibHours(b.totals) - unusedGibHours(a.totals))
    .slice(0, WASTERS);
  const searched: Searched[] = [];
  for (const [index, { name, totals }] of largest.entries()) {
    const share_of_waste = wasteOfAll > 0 ? Math.min(1, unusedGibHours(totals) / wasteOfAll) : 0;
    const waster = { name, sums: toSums(totals, fitting), share_of_waste };
    const ownToday = today?.groups.find(({ key }) => key === name)?.totals;
    const own = alone ? days : await askForDays(reader, { ...all, owner: name }, ownToday);
    const where = whereToLook(all, own(unusedGibHours), alone ? READ_PER_LIST : READ_PER_WASTER);
    const names = await askForNames(reader, where, name, all);
    const most = alone ? NAMES_OF_A_LIST : isNamed(waster, index) ? NAMES_OF_A_WASTER : 1;
    searched.push({ waster, where, names, shown: names.slice(0, most) });
  }
  return searched;
}

/**
 * The owners that wasted most, with job lines, and their jobs that mostly stayed far below their limit; `records`: those
 * that the lines were made from. Rejects with StoreError.
 */
export async function askForWasters(reader: ReportReader, all: Asked, sums: OwnerSums, history: ClassHistory) {
  const searched = await searchWasters(reader, all, sums);
  const far = all.owner === undefined ? searched.flatMap(({ names }) => names).filter(mostlyFarBelow) : [];
  const farShown = largestWaste(far).slice(0, NAMES_OF_A_LIST);
  const lines = new Map<NameSums, JobLine | null>();
  const records: JobRecord[] = [];
  const ofAny = { slots: null, pe: null, project: null, queue: null, programs: [], complex: null };
  for (const name of new Set([...searched.flatMap(({ shown }) => shown), ...farShown])) {
    const some = await askForSome(reader, all, name);
    const kind = { owner: name.owner, jobName: name.name, cluster: all.cluster ?? null, ...ofAny };
    lines.set(name, lineOfName({ ...name, ...some, prediction: await history.memoryOf(kind) }));
    records.push(...some.records);
  }
  const linesOf = (names: readonly NameSums[]): JobLine[] => names.flatMap((name) => lines.get(name) ?? []);
  return {
    wasters: searched.map(({ waster, where, shown }): Waster => ({
      ...waster,
      jobs: { records: waster.sums.records, lines: linesOf(shown), looked_at_days: where.days },
    })),
    farBelow: {
      records: sums.site.far_below,
      lines: linesOf(farShown).filter(couldAskForLess),
      looked_at_days: daysOf(farShown.map(({ where }) => where)),
    } satisfies JobList,
    records,
  };
}
