import { openedFile } from '../files';
import { metricsOf, reading, source, type Reading } from '../source';

const { gauge } = metricsOf('loadavg');
const HUNDREDTHS = { resolution: 100 };

const METRICS = [
  gauge('1min', 'count', 'Runnable and uninterruptible tasks, mean over about a minute.', HUNDREDTHS),
  gauge('5min', 'count', 'Runnable and uninterruptible tasks, mean over about five minutes.', HUNDREDTHS),
  gauge('15min', 'count', 'Runnable and uninterruptible tasks, mean over about fifteen minutes.', HUNDREDTHS),
  gauge('runnable', 'count', 'Tasks on a CPU or waiting for one.'),
  gauge('threads', 'count', 'Tasks that exist.'),
] as const;

/** Parses `/proc/loadavg` (proc_loadavg(5)); null when it is not one. */
function parseLoadavg(text: string): readonly Reading[] | null {
  const match = /^(\d+\.\d+) (\d+\.\d+) (\d+\.\d+) (\d+)\/(\d+) /.exec(text);
  if (match === null) return null;
  return METRICS.map((metric, index) => reading(metric, Number(match[index + 1])));
}

export const loadavg = source({
  name: 'loadavg',
  reads: ['/proc/loadavg'],
  metrics: METRICS,
  open: ({ proc }) => openedFile(`${proc}/loadavg`, parseLoadavg),
});
