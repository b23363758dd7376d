import type { Dialect } from '../../gridengine/dialect';
import { nextTime, type NextTime } from '../advice/next-time';
import type { Classes } from '../rules/judge';
import type { Screen } from '../screen/screen';
import { whyEnded, type Why } from '../why/why';
import { wordsOf } from '../why/words';
import { latestRuns, predictionOf, type JobRun } from './job-run';
import { latestWhole, type JobWhole } from './job-whole';

/** The latest run of a job (array task), as its screens show it. */
interface LatestRun {
  readonly latest: readonly JobRun[];
  readonly whole: JobWhole;
  readonly why: Why | null;
  readonly next: NextTime | null;
  readonly classes: Classes | null;
}

/** null: there are no runs. */
export function latestRun(runs: readonly JobRun[], screen: Screen, dialect: Dialect = 'unknown'): LatestRun | null {
  const latest = latestRuns(runs);
  const whole = latestWhole(latest);
  if (whole === null) return null;
  const why = whyEnded(whole.records, wordsOf(screen), dialect);
  const next = nextTime(whole.needs, [why], predictionOf(latest));
  return { latest, whole, why, next, classes: latest[0]?.classes ?? null };
}
