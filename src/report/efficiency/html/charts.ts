import { formatCount } from '../../format/units';
import type { Report } from '../report';
import { hoursText, memoryTime, sharesText } from '../words';
import { look, type ColourName, element, fragment, type Html } from './markup';
import { note } from './parts';

/** Charts made of table cells: mail programs show no SVG and run no script. */

const HEIGHT = 110;

interface Segment {
  readonly pixels: number;
  readonly colour: ColourName;
}

/** One column: segments from the bottom, empty above. */
function column(segments: readonly Segment[]): Html {
  const filled = segments.filter(({ pixels }) => pixels > 0).reverse();
  const row = ({ pixels, colour }: Segment): Html =>
    element('tr', {}, element('td', { ...look('', colour), height: pixels }));
  return element(
    'td',
    { valign: 'bottom', style: 'padding:0 1px' },
    filled.length === 0
      ? null
      : element('table', { cellpadding: 0, cellspacing: 0, width: '100%' }, ...filled.map(row)),
  );
}

interface Tick {
  readonly text: string;
  readonly columns: number;
}

function chart(columns: readonly Html[], ticks: readonly Tick[], top: string, label: string): Html {
  const small = 'font-size:11px;line-height:15px;font-variant-numeric:tabular-nums';
  const labels = ticks.map(({ text, columns: span }) =>
    element('td', { ...look(`${small};padding:3px 0 0 1px;white-space:nowrap`, 'faint'), colspan: span }, text),
  );
  return fragment(
    element('div', look(`${small};margin:0 0 2px`, 'faint'), top),
    element(
      'table',
      {
        role: 'img',
        'aria-label': label,
        cellpadding: 0,
        cellspacing: 0,
        width: '100%',
        style: 'table-layout:fixed',
      },
      element('tr', { height: HEIGHT, style: 'font-size:1px;line-height:1px' }, ...columns),
      element('tr', {}, element('td', { ...look('', 'rest'), height: 1, colspan: columns.length })),
      element('tr', {}, ...labels),
    ),
  );
}

function key(colour: ColourName, text: string): Html {
  const box = element(
    'span',
    look('display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px', colour),
    '',
  );
  return element(
    'span',
    look('font-size:12px;line-height:18px;margin-right:14px;white-space:nowrap', 'faint'),
    box,
    text,
  );
}

const scaled = (value: number, most: number): number =>
  value <= 0 ? 0 : Math.max(1, Math.round((value / most) * HEIGHT));

/** Memory requested and in use, hour by hour; null: nothing to draw. */
export function hoursChart(report: Report): Html | null {
  const says = hoursText(report);
  if (says === null) return null;
  const most = report.hours.reduce((least, hour) => Math.max(least, hour.requested_gib_hours, hour.used_gib_hours), 0);
  const columns = report.hours.map(({ requested_gib_hours: asked, used_gib_hours: used }) => {
    const usedPixels = scaled(used, most);
    return column([
      { pixels: usedPixels, colour: 'used' },
      { pixels: Math.max(0, scaled(asked, most) - usedPixels), colour: 'asked' },
    ]);
  });
  const ticks = Array.from({ length: 8 }, (_, index) => ({ text: `${index * 3} h`, columns: 3 }));
  return fragment(
    chart(columns, ticks, memoryTime(most), says),
    element('div', { style: 'margin-top:6px' }, key('used', 'in use'), key('asked', 'requested')),
    note(says),
  );
}

function fillOf(from: number, to: number | null): ColourName {
  if (to === null) return 'fill-bad';
  return to <= 0.25 + 1e-9 || from >= 0.9 - 1e-9 ? 'fill-warning' : 'fill-good';
}

/** Histogram of peak memory as a share of the limit; null: nothing to draw. */
export function sharesChart(report: Report): Html | null {
  const says = sharesText(report);
  if (says === null) return null;
  const most = report.shares.reduce((least, { records }) => Math.max(least, records), 0);
  const columns = report.shares.map(({ from, to, records }) =>
    column([{ pixels: scaled(records, most), colour: fillOf(from, to) }]),
  );
  const ticks = [...[0, 25, 50, 75].map((percent) => ({ text: `${percent} %`, columns: 5 })), { text: '', columns: 1 }];
  return fragment(
    chart(columns, ticks, `${formatCount(most)} records`, says),
    element(
      'div',
      { style: 'margin-top:6px' },
      key('fill-good', 'fits'),
      key('fill-warning', 'far below, or close to the limit'),
      key('fill-bad', 'reached, or exceeded'),
    ),
    note(says),
  );
}
