import { openedFile } from '../files';
import { metricsOf, reading, source, type Reading } from '../source';

const { counter } = metricsOf('uptime');

const TOTAL = counter('total', 'seconds', 'Time since boot.', { resolution: 100 });
const IDLE = counter('idle', 'seconds', 'Idle time of all CPUs together since boot.', { resolution: 100 });

/** Parses `/proc/uptime`; null when it is not one. */
export function parseUptime(text: string): readonly Reading[] | null {
  const match = /^(\d{1,15}\.\d+) (\d{1,15}\.\d+)\s*$/.exec(text);
  return match === null ? null : [reading(TOTAL, Number(match[1])), reading(IDLE, Number(match[2]))];
}

export const uptime = source({
  name: 'uptime',
  reads: ['/proc/uptime'],
  metrics: [TOTAL, IDLE],
  open: ({ proc }) => openedFile(`${proc}/uptime`, parseUptime),
});
