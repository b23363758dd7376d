import { readText, whyUnreadable } from '../files';
import { source, type Metric, type Reading } from '../source';

const gauge = (name: string, help: string, resolution = 1): Metric => ({
  name: `loadavg_${name}`,
  unit: 'count',
  kind: 'gauge',
  scope: 'node',
  resolution,
  help,
});

const METRICS = [
  gauge('1min', 'Runnable and uninterruptible tasks, mean over about a minute.', 100),
  gauge('5min', 'The same over about five minutes.', 100),
  gauge('15min', 'The same over about fifteen minutes.', 100),
  gauge('runnable', 'Tasks on a CPU or waiting for one.'),
  gauge('threads', 'Tasks that exist.'),
] as const;

/** Parses `/proc/loadavg` (proc_loadavg(5)); null when it is not one. */
function parseLoadavg(text: string): readonly Reading[] | null {
  const match = /^(\d+\.\d+) (\d+\.\d+) (\d+\.\d+) (\d+)\/(\d+) /.exec(text);
  if (match === null) return null;
  return METRICS.map(({ name }, index) => ({ metric: name, instance: '', value: Number(match[index + 1]) }));
}

export const loadavg = source({
  name: 'loadavg',
  reads: ['/proc/loadavg'],
  metrics: METRICS,
  open: ({ proc }) => {
    const path = `${proc}/loadavg`;
    const read = (): readonly Reading[] | null => parseLoadavg(readText(path) ?? '');
    if (read() === null) return whyUnreadable(path);
    return { read: () => read() ?? whyUnreadable(path), close: () => undefined };
  },
});
