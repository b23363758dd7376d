import type { JobRecord } from '../sampler/record';
import { formatQuantity, splitMetric, unitOfMetric } from './quantity';
import type { Screen } from './screen';
import { renderTable } from './table';

/** Metrics of a job under one heading (at most 9 characters), by the names of their sources. */
interface Group {
  readonly heading: string;
  readonly sources: readonly string[];
}

const GROUPS: readonly Group[] = [
  { heading: 'Energy', sources: ['energy', 'rapl', 'raplperf', 'ipmi'] },
  { heading: 'GPU', sources: ['gpu', 'nvidia', 'drm', 'drmprocess'] },
  { heading: 'Perf', sources: ['perf'] },
  { heading: 'Cgroup', sources: ['cgroup', 'oom'] },
  { heading: 'PSS', sources: ['pss'] },
  { heading: 'Delays', sources: ['taskstats', 'delay', 'pressure'] },
  { heading: 'Network', sources: ['jobnetwork', 'network'] },
];
const OTHERS = 'Others';

/** Values next to each other. */
const PAIRS = 2;
const BAD = /_oom_kills?$|_oom_group_kills?$/;

export interface MetricSection {
  readonly heading: string;
  readonly lines: readonly string[];
}

function renderGroup(metrics: readonly (readonly [string, number])[], width: number, screen: Screen): string[] {
  const cells = metrics.map(([name, value]) => {
    const text = formatQuantity(value, unitOfMetric(name), screen.glyphs);
    return [screen.safe(splitMetric(name).what), BAD.test(name) ? screen.style.bad(text) : text];
  });
  const lines = Math.ceil(cells.length / PAIRS);
  // Column by column, as lists are read.
  const rows = Array.from({ length: lines }, (_, line) =>
    Array.from({ length: PAIRS }, (_pair, pair) => cells[pair * lines + line] ?? ['', '']).flat(),
  );
  const columns = Array.from({ length: PAIRS }, () => [{ head: '', shrinksTo: 16 }, { head: '' }]).flat();
  return renderTable(columns, rows, screen, width);
}

/** What other sources say of the job, group by group; what is 0 is left out, and so is a group without any other. */
export function renderMetrics({ metrics }: JobRecord, width: number, screen: Screen): readonly MetricSection[] {
  const known = Object.entries(metrics).filter(([, value]) => value !== 0);
  const headingOf = (name: string): string =>
    GROUPS.find(({ sources }) => sources.includes(splitMetric(name).source))?.heading ?? OTHERS;
  return [...GROUPS.map(({ heading }) => heading), OTHERS].flatMap((heading) => {
    const own = known.filter(([name]) => headingOf(name) === heading);
    return own.length === 0 ? [] : [{ heading, lines: renderGroup(own, width, screen) }];
  });
}
