import type { OptionValue } from '../record/setting';
import type { Source } from '../sources/source';
import type { Settings } from '../record/settings';

type Described = Pick<Source, 'name' | 'interval' | 'enabled' | 'options'>;

/** How one source is to be read here. */
interface SourceChoice {
  readonly enabled: boolean;
  readonly intervalMs: number;
  readonly options: Readonly<Record<string, OptionValue>>;
}

const LEAST_INTERVAL_S = 0.05;
const MOST_INTERVAL_S = 86_400;

/** A source's defaults, overridden by the site's table; values of another type than the default's are left out. */
export function chooseSource(source: Described, settings: Settings): SourceChoice {
  const { enabled, interval, ...given } = settings.sources[source.name] ?? {};
  const options = { ...source.options };
  for (const [key, value] of Object.entries(given))
    if (kindOf(value) === kindOf(source.options[key])) options[key] = value;
  return {
    enabled: typeof enabled === 'boolean' ? enabled : source.enabled,
    intervalMs:
      1000 * Math.min(MOST_INTERVAL_S, Math.max(LEAST_INTERVAL_S, isNumber(interval) ? interval : source.interval)),
    options,
  };
}

/**
 * How long the helper process may take for an answer of a source, in ms: `helper_deadline`, or longer if the source has
 * time limits of its own, which must pass first.
 */
export function helperDeadlines(sources: readonly Source[], settings: Settings): (source: string) => number {
  const own = new Map(
    sources.flatMap((source) => {
      const { name, patience } = source;
      return patience === undefined ? [] : [[name, 1000 * patience(chooseSource(source, settings).options)] as const];
    }),
  );
  return (name) => Math.max(settings.helper_deadline * 1000, own.get(name) ?? 0);
}

/** TOML has "nan", too. */
const isNumber = (value: unknown): value is number => typeof value === 'number' && !Number.isNaN(value);

const kindOf = (value: OptionValue | undefined): string => (Array.isArray(value) ? 'list of strings' : typeof value);

/** A key as TOML would have it: without quotes where it needs none. */
const written = (key: string): string => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key));

/** What is wrong with the `[sources.*]` tables, one line each: unknown sources and keys, values of the wrong type. */
export function sourceSettingsProblems(sources: readonly Described[], settings: Settings): readonly string[] {
  const problems: string[] = [];
  for (const [name, table] of Object.entries(settings.sources)) {
    const source = sources.find((candidate) => candidate.name === name);
    if (source === undefined) {
      problems.push(
        `[sources.${written(name)}]: no such source; known are ${sources.map((known) => known.name).join(', ')}`,
      );
      continue;
    }
    const known: Readonly<Record<string, OptionValue>> = { enabled: true, interval: 1, ...source.options };
    for (const [key, value] of Object.entries(table)) {
      const expected = Object.hasOwn(known, key) ? known[key] : undefined;
      if (expected === undefined)
        problems.push(`[sources.${name}] ${written(key)}: unknown; known are ${Object.keys(known).join(', ')}`);
      else if (kindOf(expected) !== kindOf(value))
        problems.push(`[sources.${name}] ${key}: a ${kindOf(value)} where a ${kindOf(expected)} is wanted`);
      else if (key === 'interval' && !(Number(value) >= LEAST_INTERVAL_S && Number(value) <= MOST_INTERVAL_S))
        problems.push(`[sources.${name}] interval: not ${LEAST_INTERVAL_S} to ${MOST_INTERVAL_S} s`);
    }
  }
  return problems;
}
