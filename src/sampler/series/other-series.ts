import { list, map, number, object, type ValueOf } from '../../base/shape';

/** At each step what was seen last or largest in it; -1: nothing was. */
type Column = readonly number[];

/** What a successor process gets. */
export function savedOthers(mostSteps: number) {
  const column = list(number(-1), mostSteps);
  return object({ times: column, amounts: map(column), counters: map(column) });
}

/** What is charted beside resident memory: amounts by the largest of each step, counters by where they last stood. */
export type OtherSeries = ValueOf<ReturnType<typeof savedOthers>>;

/** What one moment says. Counters never fall. */
export interface OtherValues {
  readonly amounts?: Readonly<Record<string, number>>;
  readonly counters?: Readonly<Record<string, number>>;
}

export const NO_OTHERS: OtherSeries = { times: [], amounts: {}, counters: {} };

function put(column: Column, index: number, value: number): Column {
  const longer = [...column, ...Array.from({ length: Math.max(0, index + 1 - column.length) }, () => -1)];
  longer[index] = Math.max(longer[index] ?? -1, value);
  return longer;
}

type Columns = Readonly<Record<string, Column>>;

const putAll = (columns: Columns, index: number, values: Readonly<Record<string, number>> = {}): Columns => ({
  ...columns,
  ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, put(columns[name] ?? [], index, value)])),
});

/** With what was seen in a step, `ms` after the start. */
export function withValues(others: OtherSeries, index: number, ms: number, values: OtherValues): OtherSeries {
  return {
    times: values.counters === undefined ? others.times : put(others.times, index, ms),
    amounts: putAll(others.amounts, index, values.amounts),
    counters: putAll(others.counters, index, values.counters),
  };
}

const halfOf = (column: Column): Column =>
  Array.from({ length: Math.ceil(column.length / 2) }, (_, step) =>
    Math.max(column[2 * step] ?? -1, column[2 * step + 1] ?? -1),
  );

const halvesOf = (columns: Columns): Columns =>
  Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, halfOf(column)]));

/** In steps of twice the length. */
export function halved({ times, amounts, counters }: OtherSeries): OtherSeries {
  return { times: halfOf(times), amounts: halvesOf(amounts), counters: halvesOf(counters) };
}

/** Steps without a value take the one before them. */
export function filledSteps(column: Column, steps: number): readonly number[] {
  let last = 0;
  return Array.from({ length: steps }, (_, index) => {
    const value = column[index] ?? -1;
    return (last = value < 0 ? last : value);
  });
}

/** By how much the counter grew in a second, from where it stood in one step to where it stood in the next. */
function rates(stood: Column, times: Column, steps: number): readonly number[] {
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

/** Each by its name, of a counter its rate; those that never rose above 0 are left out. */
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
