import type { OTHER_SERIES } from '../../../record/fields';
import type { MemorySeries } from '../../../record/record';
import { MEMORY_SERIES } from '../../../record/series-values';
import { queryName } from '../../routes/parameter';

const TITLES = {
  [MEMORY_SERIES]: 'Memory',
  cpu_cores: 'CPU',
  swap_bytes: 'Swap',
  read_bytes_per_second: 'Read',
  written_bytes_per_second: 'Written',
  gpu_percent: 'GPU',
  gpu_memory_bytes: 'GPU memory',
} satisfies Readonly<Record<typeof MEMORY_SERIES | keyof typeof OTHER_SERIES, string>>;

const titles: ReadonlyMap<string, string> = new Map(Object.entries(TITLES));

export const seriesTitle = (name: string): string => titles.get(name) ?? name;

/** Which series is charted. */
export const querySeries = queryName(
  `what is charted over time: ${[...titles.keys()].join(', ')} (default: ${MEMORY_SERIES})`,
);

/** The names of all series that `all` hold, in the usual order. */
function seriesNames(all: readonly MemorySeries[]): readonly string[] {
  const held = new Set([MEMORY_SERIES, ...all.flatMap(({ others }) => Object.keys(others))]);
  const usual = [...titles.keys()].filter((name) => held.has(name));
  return [...usual, ...[...held].filter((name) => !titles.has(name)).sort()];
}

interface ShownSeries {
  /** Name of the series that is charted: the wanted one, or memory if that does not exist. */
  readonly shown: string;
  /** Links to all series; none if there is nothing to choose from. */
  readonly items: readonly (readonly [title: string, link: string | null])[];
}

/** Chooses the series to chart, and makes links to the others. */
export function chooseSeries(
  all: readonly MemorySeries[],
  wanted: string | undefined,
  linkOf: (name: string) => string,
): ShownSeries {
  const names = seriesNames(all);
  const shown = wanted !== undefined && names.includes(wanted) ? wanted : MEMORY_SERIES;
  const items = names.map((name) => [seriesTitle(name), name === shown ? null : linkOf(name)] as const);
  return { shown, items: items.length === 1 ? [] : items };
}
