import { list, map, number, object, type ValueOf } from '../../base/shape';

/** For each step the largest value seen in it; -1: none. */
type Column = number[];
type Columns = Record<string, Column>;

/** What a successor process gets. */
export function savedOthers(mostSteps: number) {
  const column = list(number(-1), mostSteps);
  return object({ times: column, amounts: map(column), counters: map(column) });
}

/** What is charted beside resident memory: for each step an amount's largest value, and a counter's last one. */
export interface OtherSeries {
  times: Column;
  amounts: Columns;
  counters: Columns;
}

/** Values at one moment. Counters never fall. */
export interface OtherValues {
  readonly amounts?: Readonly<Record<string, number>>;
  readonly counters?: Readonly<Record<string, number>>;
}

export const newOthers = (): OtherSeries => ({ times: [], amounts: {}, counters: {} });

const copyOf = (columns: Readonly<Record<string, readonly number[]>>): Columns =>
  Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, [...column]]));

export function copyOfOthers({ times, amounts, counters }: ValueOf<ReturnType<typeof savedOthers>>): OtherSeries {
  return { times: [...times], amounts: copyOf(amounts), counters: copyOf(counters) };
}

function put(column: Column, index: number, value: number): void {
  while (column.length <= index) column.push(-1);
  column[index] = Math.max(column[index] ?? -1, value);
}

function putAll(columns: Columns, index: number, values: Readonly<Record<string, number>>): void {
  for (const name in values) put((columns[name] ??= []), index, values[name] ?? -1);
}

/** Adds what was seen in a step, `ms` after the start. */
export function addValues(others: OtherSeries, index: number, ms: number, { amounts, counters }: OtherValues): void {
  if (amounts !== undefined) putAll(others.amounts, index, amounts);
  if (counters === undefined) return;
  put(others.times, index, ms);
  putAll(others.counters, index, counters);
}

function halve(column: Column): void {
  const steps = Math.ceil(column.length / 2);
  for (let step = 0; step < steps; step++) column[step] = Math.max(column[2 * step] ?? -1, column[2 * step + 1] ?? -1);
  column.length = steps;
}

/** Makes each step twice as long. */
export function halveOthers({ times, amounts, counters }: OtherSeries): void {
  for (const column of [times, ...Object.values(amounts), ...Object.values(counters)]) halve(column);
}

/** Steps without a value take the one before them. */
export function filledSteps(column: readonly number[], steps: number): readonly number[] {
  let last = 0;
  return Array.from({ length: steps }, (_, index) => {
    const value = column[index] ?? -1;
    return (last = value < 0 ? last : value);
  });
}

/** A counter's growth per second, from its value in one step to its value in the next step that has one. */
function rates(stood: readonly number[], times: readonly number[], steps: number): readonly number[] {
  const made: number[] = [];
  let [before, since] = [0, 0];
  for (const [index, ms] of times.entries()) {
    const value = stood[index] ?? -1;
    if (ms <= since || value < 0) continue;
    const rate = (Math.max(0, value - before) * 1000) / (ms - since);
    while (made.length <= index) made.push(rate);
    [before, since] = [value, ms];
  }
  return Array.from({ length: steps }, (_, index) => made[index] ?? 0);
}

const rounded = (value: number): number => (value < 100 ? Math.round(value * 100) / 100 : Math.round(value));

/** All series by name, counters as rates; those that never rose above 0 are left out. */
export function finishedOthers(
  { times, amounts, counters }: OtherSeries,
  steps: number,
): Readonly<Record<string, readonly number[]>> {
  const all = [
    ...Object.entries(amounts).map(([name, column]) => [name, filledSteps(column, steps)] as const),
    ...Object.entries(counters).map(([name, column]) => [name, rates(column, times, steps)] as const),
  ];
  return Object.fromEntries(
    all.flatMap(([name, values]) =>
      values.some((value) => value >= 0.005) ? [[name, values.map(rounded)] as const] : [],
    ),
  );
}
