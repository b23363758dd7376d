import { list, nullable, number, object, optional, text, type ValueOf } from '../../base/shape';
import {
  addValues,
  copyOfOthers,
  filledSteps,
  finishedOthers,
  halveOthers,
  newOthers,
  savedOthers,
  type OtherSeries,
  type OtherValues,
} from './other-series';

const MOST_STEPS = 120;
/** If a sum has more open images, all of them are left out: thousands of forked workers must not fill the memory. */
const MOST_IMAGES = 1000;

/** A forked image that may yet execute a program, and the memory that it shows, which may be its parent's pages. */
export const OPEN_IMAGE = object({ image: text(64), bytes: number(0) });
export type OpenImage = ValueOf<typeof OPEN_IMAGE>;

/** The sum in a step that is largest if all of its open images count. */
const OPEN_SUM = object({ certain: number(0), images: list(OPEN_IMAGE, MOST_IMAGES) });
type OpenSum = ValueOf<typeof OPEN_SUM>;

/** What a successor process gets. */
export const SAVED_SERIES = object({
  startMs: number(),
  stepMs: number(1),
  /** -1: no sample in that step. */
  values: list(number(-1), MOST_STEPS),
  open: list(nullable(OPEN_SUM), MOST_STEPS),
  latest: optional(nullable(OPEN_SUM)),
  others: savedOthers(MOST_STEPS),
});

/** Memory over time in at most MOST_STEPS steps of equal length: each holds the largest sum seen in it. */
export interface Series {
  startMs: number;
  stepMs: number;
  values: number[];
  open: (OpenSum | null)[];
  /** The last sum. */
  latest?: OpenSum | null;
  others: OtherSeries;
}

const FIRST_STEP_MS = 50;

export function newSeries(startMs: number): Series {
  return { startMs, stepMs: FIRST_STEP_MS, values: [], open: [], latest: null, others: newOthers() };
}

const most = (sum: OpenSum | null | undefined): number =>
  sum == null ? -1 : sum.images.reduce((sumOfAll, { bytes }) => sumOfAll + bytes, sum.certain);

const larger = (a: OpenSum | null | undefined, b: OpenSum | null | undefined): OpenSum | null =>
  (most(b) > most(a) ? b : a) ?? null;

function halve(series: Series): void {
  const steps = Array.from({ length: Math.ceil(series.values.length / 2) }, (_, step) => 2 * step);
  series.open = steps.map((step) => larger(series.open[step], series.open[step + 1]));
  series.values = steps.map((step) => Math.max(series.values[step] ?? -1, series.values[step + 1] ?? -1));
  halveOthers(series.others);
  series.stepMs *= 2;
}

/** Index of the step of that moment; steps double in length until there is one. */
function stepAt(series: Series, atMs: number): number {
  const indexOf = (): number => Math.max(0, Math.floor((atMs - series.startMs) / series.stepMs));
  while (indexOf() >= MOST_STEPS) halve(series);
  return indexOf();
}

/** Adds one sum (bytes) seen at `atMs`, and the open images, which are not in it; may double the steps' length. */
export function addToSeries(series: Series, atMs: number, bytes: number, images: readonly OpenImage[] = []): void {
  const index = stepAt(series, atMs);
  while (series.values.length <= index) series.values.push(-1);
  series.values[index] = Math.max(series.values[index] ?? -1, bytes);
  while (series.open.length < series.values.length) series.open.push(null);
  series.latest = { certain: bytes, images: images.length <= MOST_IMAGES ? images : [] };
  if (series.latest.images.length > 0) series.open[index] = larger(series.open[index], series.latest);
}

/** Adds other values seen at `atMs`, under the names that a record has for them. */
export function addOthers(series: Series, atMs: number, values: OtherValues): void {
  addValues(series.others, stepAt(series, atMs), Math.max(0, atMs - series.startMs), values);
}

/** The sum after the fates of its images are applied; null: it does not change. */
function settledSum(sum: OpenSum | null | undefined, fates: ReadonlyMap<string, boolean>): OpenSum | null {
  if (!sum?.images.some(({ image }) => fates.has(image))) return null;
  const images = sum.images.filter(({ image }) => !fates.has(image));
  const own = sum.images.filter(({ image }) => fates.get(image) === true);
  return { certain: most({ certain: sum.certain, images: own }), images };
}

/** Applies the fates of images. true: the image never executed a program, so its memory was its own. */
export function settleSeries(series: Series, fates: ReadonlyMap<string, boolean>): void {
  if (fates.size === 0) return;
  for (const [index, sum] of series.open.entries()) {
    const settled = settledSum(sum, fates);
    if (settled === null) continue;
    series.values[index] = Math.max(series.values[index] ?? -1, settled.certain);
    series.open[index] = settled.images.length === 0 ? null : settled;
  }
  series.latest = settledSum(series.latest, fates) ?? series.latest ?? null;
}

/** A copy that can be settled on its own. */
export function copyOfSeries({ values, open, others, ...rest }: ValueOf<typeof SAVED_SERIES>): Series {
  return { ...rest, values: [...values], open: [...open], others: copyOfOthers(others) };
}

/** Steps without a sample take the value before them. */
export function filled({ values }: Series): readonly number[] {
  return filledSteps(values, values.length);
}

/** The same for a running job: the last step, which may span hours, holds the last sum instead of the largest. */
export function filledSoFar(series: Series): readonly number[] {
  const steps = filled(series);
  return series.latest == null ? steps : [...steps.slice(0, -1), series.latest.certain];
}

/** The other series at the same steps. */
export function othersOf({ values, others }: Series): Readonly<Record<string, readonly number[]>> {
  return finishedOthers(others, values.length);
}
