import { openedFile, readText } from '../files';
import { pageSize } from '../page-size';
import { knownReadings, metricsOf, source, type Reading } from '../source';
import { parseMeminfo } from './meminfo';
import { parseVmstat } from './vmstat';

const { gauge, counter } = metricsOf('swap');

const TOTAL = gauge('total', 'bytes', 'Swap space; 0: none.');
const USED = gauge('used', 'bytes', 'Swap space in use.');
const FREE = gauge('free', 'bytes', 'Swap space that nothing uses.');
const PERCENT = gauge('used', 'percent', 'Used part of the swap space; 0 where there is none.', { resolution: 100 });
const IN = counter('in', 'bytes', 'Read back from swap.');
const OUT = counter('out', 'bytes', 'Written to swap.');

/** Readings from the texts of `/proc/meminfo` and `/proc/vmstat`; null when the former has no swap lines. */
export function swapReadings(meminfo: string, vmstat: string, page: number): readonly Reading[] | null {
  const memory = parseMeminfo(meminfo);
  const total = memory.get('SwapTotal');
  const free = memory.get('SwapFree');
  if (total === undefined || free === undefined) return null;
  const used = Math.max(0, total - free);
  const moved = parseVmstat(vmstat, page);
  return knownReadings([
    [TOTAL, total],
    [USED, used],
    [FREE, free],
    [PERCENT, total === 0 ? 0 : (100 * used) / total],
    [IN, moved.get('pswpin')],
    [OUT, moved.get('pswpout')],
  ]);
}

export const swap = source({
  name: 'swap',
  reads: ['/proc/meminfo', '/proc/vmstat'],
  metrics: [TOTAL, USED, FREE, PERCENT, IN, OUT],
  open: ({ proc }) => {
    const page = pageSize(proc);
    return openedFile(`${proc}/meminfo`, (text) => swapReadings(text, readText(`${proc}/vmstat`) ?? '', page));
  },
});
