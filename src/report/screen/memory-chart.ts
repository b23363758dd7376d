import { judgedEnd } from '../../record/peak-figure';
import type { JobRecord, MemorySeries } from '../../record/record';
import { complexOf, limitOf } from '../../record/request';
import { renderChart } from './chart';
import { needOf } from '../advice/fit';
import type { Screen } from './screen';
import { formatBytes } from '../format/units';
import { wrap } from './layout';

/** Figures closer to each other than this are not explained. */
const ALIKE = 1.1;

/**
 * Why the peak is above the curve: it counts forked processes that had not yet run another program, which the curve
 * leaves out, or it was between two samples.
 */
function missedPeak({ peak_rss: peak }: JobRecord, drawn: number): string | null {
  if (peak === null || peak.lower_bytes <= drawn * ALIKE) return null;
  const bytes = formatBytes(peak.lower_bytes, 'down');
  return peak.sources.includes('sample')
    ? `the peak of ${bytes} counts forked processes, too, that had done nothing yet: pages that they share, once for each`
    : `the peak of ${bytes} was between two samples`;
}

function otherQuantities(record: JobRecord, drawn: number): string[] {
  const need = needOf(record);
  const { peak_rss_swap: swapped, peak_footprint: unshared } = record;
  const own = unshared && judgedEnd(unshared);
  const most = Math.max(drawn, record.peak_rss?.lower_bytes ?? 0);
  return [
    ...(swapped !== null && swapped.lower_bytes > most * ALIKE
      ? [`with swap ${formatBytes(swapped.lower_bytes, 'down')}`]
      : []),
    ...(need?.quantity === 'peak_process_vmem' && need.bytes > most * ALIKE
      ? [`the largest address space, which ${complexOf(record)} limits, too, was ${formatBytes(need.bytes)}`]
      : []),
    ...(own !== null && own * ALIKE < drawn ? [`without what processes share ${formatBytes(own, 'up')}`] : []),
  ];
}

/**
 * Memory over time with its limit, under a line on what is drawn and on other figures, shown or limited, that differ
 * from it. No lines where there is too little to draw.
 */
export function renderMemoryChart(record: JobRecord, width: number, screen: Screen): string[] {
  const { series } = record;
  const chart = series === null ? [] : renderChart(series, limitOf(record), width, screen);
  if (series === null || chart.length === 0) return [];
  return [...wrap(curveWords(record, series), width).map(screen.style.faint), ...chart];
}

/** What the curve shows, and other figures that differ from it. */
export function curveWords(record: JobRecord, series: MemorySeries): string {
  const drawn = series.rss_bytes.reduce((most, bytes) => Math.max(most, bytes), 0);
  const missed = missedPeak(record, drawn);
  const words = [
    'RSS of all processes together',
    ...(missed === null ? [] : [missed]),
    ...otherQuantities(record, drawn),
  ];
  return words.join('; ');
}
