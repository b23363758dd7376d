import { formatCount, formatNumber, plural } from '../../format/units';
import type { Report } from '../report';
import { isList, type Column, type Group, type Part, type Row, type Section, type Text } from '../section';
import { overview, toned } from '../sections';
import { coreTimes, memoryTime, NONE, peakOfRequested, share } from '../words';
import { hoursChart, sharesChart } from './charts';
import { element, FONT, fragment, look, lookAs, type Attributes, type Child, type Html } from './markup';
import { bar, card, code, layout, named, note, sentence, PLAIN, shareBar, SMALL } from './parts';

export function inHtml(text: Text): Child {
  if (isList(text)) return fragment(...text.map(inHtml));
  if (typeof text === 'string') return text;
  if ('name' in text) return named(text.name);
  if ('sentence' in text) return element('bdi', {}, text.sentence);
  if ('code' in text) return code(text.code);
  if ('tone' in text) return element('span', look('', text.tone), text.says);
  if ('gauge' in text) return element('div', { style: 'padding:6px 0' }, shareBar(text.gauge, 6));
  return fragment(element('br', {}), element('span', look('', 'faint'), inHtml(text.small)));
}

interface Tile {
  readonly name: string;
  readonly value: Child;
  readonly says: string;
  readonly bar?: Html;
}

function tile({ name, value, says, bar: drawn }: Tile): Html {
  return element(
    'td',
    { ...lookAs('tile', `padding:0 16px 8px 0;vertical-align:top;${FONT}`, 'ink'), width: '25%' },
    element('div', look('font-size:12px;line-height:16px', 'faint'), name),
    element(
      'div',
      look('font-size:24px;line-height:32px;font-weight:600;font-variant-numeric:tabular-nums', 'ink'),
      value,
    ),
    drawn === undefined ? null : element('div', { style: 'padding:2px 0 4px' }, drawn),
    element('div', look('font-size:12px;line-height:17px', 'faint'), says),
  );
}

function tiles({ site }: Report): Html {
  const [waste, wasteUnit] =
    site.without_peak < site.records ? memoryTime(site.waste_gib_hours).split(' ') : [NONE, ''];
  const fits =
    waste === NONE
      ? 'no job has a peak'
      : site.waste_slot_hours === null || site.waste_jobs === null
        ? 'requested above the peaks'
        : `requested above the peaks: as much as ${formatNumber(site.waste_slot_hours)} slot hours, or ${formatNumber(site.waste_jobs)} jobs`;
  const items: readonly Tile[] = [
    {
      name: 'Memory at the peak',
      value: inHtml(toned(site.peak_efficiency)),
      says: `${peakOfRequested(site)} requested; ${share(site.memory_efficiency) || 'an unknown share'} on average`,
      bar: shareBar(site.peak_efficiency, 6),
    },
    {
      name: 'CPU',
      value: share(site.cpu_efficiency) || NONE,
      says: coreTimes(site),
      bar: bar(site.cpu_efficiency ?? 0, 'used', 6),
    },
    {
      name: 'Waste',
      value: fragment(
        waste ?? '',
        element('span', look('font-size:14px;font-weight:400', 'faint'), ` ${wasteUnit ?? ''}`),
      ),
      says: fits,
    },
    {
      name: 'Ended by memory',
      value: element('span', look('', site.killed_by_memory > 0 ? 'bad' : 'ink'), formatCount(site.killed_by_memory)),
      says: `of ${plural(site.failed, 'record')} that ended badly`,
    },
  ];
  return layout('', element('tr', {}, ...items.map(tile)));
}

function hostLines({ hosts, alert }: Extract<Part, { kind: 'hosts' }>): Html {
  const items = hosts.map(({ host, tone, says }) =>
    element(
      'p',
      look('margin:0 0 4px;font-size:14px;line-height:20px', 'ink'),
      element('strong', look('', tone), named(host)),
      ': ',
      inHtml(says),
    ),
  );
  if (!alert || items.length === 0) return fragment(...items);
  const box = look(`padding:10px 12px;border-radius:6px;${FONT}`, 'alert', 'ink');
  return layout('', element('tr', {}, element('td', box, ...items)));
}

/** The head of a group of rows: its name, and its share of the whole. */
function groupHead({ name, says, share: part, note: more }: NonNullable<Group['head']>): Html {
  const left = look('font-size:14px;line-height:20px;font-weight:600;overflow-wrap:anywhere', 'ink');
  const right = { ...look('font-size:13px;line-height:20px;padding-left:10px', 'ink'), align: 'right' };
  return fragment(
    layout('', element('tr', {}, element('td', left, named(name)), element('td', right, says))),
    element('div', { style: 'padding:3px 0' }, bar(part, 'used', 4)),
    note(more),
  );
}

/** What programs without style sheets need; the sheet (`.data`) does the rest. */
function cellAttributes({ align, wide, width }: Column, head: boolean): Attributes {
  return {
    class: wide === true ? 'wide' : null,
    align: align ?? (head ? 'left' : null),
    width: width ?? null,
    nowrap: align === 'right' ? 'nowrap' : null,
  };
}

/** A table of figures; columns without any content are left out. */
function table(all: readonly Column[], groups: readonly Group[]): Html {
  const rows = groups.flatMap((group) => group.rows);
  if (rows.length === 0 && groups.every(({ head }) => head === undefined)) return fragment();
  const shown = all
    .map((column, at) => ({ column, at }))
    .filter(({ at }) => rows.some(({ cells }) => cells[at] !== ''));
  const heads = shown.map(({ column }) => element('th', cellAttributes(column, true), column.head));
  const across = (name: string, child: Child): Html =>
    element('tr', { valign: 'top' }, element('td', { class: name, colspan: Math.max(1, shown.length) }, child));
  const line = ({ cells, remark }: Row): Html =>
    fragment(
      element(
        'tr',
        { class: remark === undefined ? null : 'tied', valign: 'top' },
        ...shown.map(({ column, at }) => element('td', cellAttributes(column, false), inHtml(cells[at] ?? ''))),
      ),
      remark === undefined ? null : across('under', element('span', look('', 'faint'), inHtml(remark.says))),
    );
  const body = groups.flatMap((group) => [
    group.head === undefined ? null : across('over', groupHead(group.head)),
    ...group.rows.map(line),
  ]);
  const style = `${SMALL};overflow-wrap:anywhere;font-variant-numeric:tabular-nums;${FONT}`;
  return element(
    'table',
    { ...PLAIN, cellpadding: 4, ...lookAs('data', style, 'ink') },
    all.every(({ head }) => head === '') ? null : element('tr', { ...look('', 'faint') }, ...heads),
    ...body,
  );
}

function inCard(part: Part): Html | null {
  switch (part.kind) {
    case 'paragraph':
      return part.text === null ? null : sentence(inHtml(part.text));
    case 'note':
      return note(part.text === null ? null : inHtml(part.text));
    case 'hosts':
      return hostLines(part);
    case 'counts':
      return table(
        [{ head: '', align: 'right', width: '1%' }, { head: '' }],
        [{ rows: part.counts.map(({ count, says }) => ({ cells: [count, says] })) }],
      );
    case 'bar':
      return bar(part.share, 'used', 6);
    case 'table':
      return table(part.columns, part.groups);
  }
}

export const sectionCard = ({ title, parts }: Section): Html => card(title, ...parts.map(inCard));

/** The figures that matter most in large type, then what the overview says of them. */
export const overviewCard = (report: Report): Html =>
  card('Overview', report.site.records === 0 ? null : tiles(report), ...overview(report).map(inCard));

export function chartsCard(report: Report): Html {
  const half = (title: string, chart: Html | null, side: 'left' | 'right'): Html | null =>
    chart === null
      ? null
      : element(
          'td',
          {
            ...lookAs(
              'half whole',
              `vertical-align:top;padding:0 ${side === 'left' ? '16px 12px 0' : '0 12px 16px'}`,
              'ink',
            ),
            width: '50%',
          },
          element('div', look('font-size:13px;line-height:18px;font-weight:600;margin:0 0 6px', 'ink'), title),
          chart,
        );
  const hours = half('Memory by hour of the day', hoursChart(report), 'left');
  const shares = half('Peak over limit', sharesChart(report), 'right');
  return hours === null && shares === null
    ? fragment()
    : card('When, and how much', layout('', element('tr', {}, hours, shares)));
}
