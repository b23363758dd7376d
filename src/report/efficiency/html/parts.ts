import { truncate } from '../../screen/text-width';
import { escapeForTerminal } from '../../format/escape';
import { shareTone } from '../../screen/gauge';
import type { Tone } from '../../screen/screen';
import { formatPercent } from '../../format/units';
import {
  FONT,
  look,
  lookAs,
  MONO,
  type ColourName,
  element,
  fragment,
  type Attributes,
  type Child,
  type Html,
} from './markup';

/** Lean: Gmail cuts off a mail after 102 kB. */
const PLAIN = { cellpadding: 0, cellspacing: 0, width: '100%' } as const;
const SMALL = 'font-size:13px;line-height:18px';
const LONGEST_NAME = 48;

/** What a user chose: as it is, apart from its neighbours, and not as long as its owner likes. */
export function named(text: string): Html {
  return element('bdi', {}, truncate(escapeForTerminal(text), LONGEST_NAME, '…'));
}

/** A table that only arranges. */
export function layout(style: string, ...rows: readonly Child[]): Html {
  return element('table', { ...PLAIN, role: 'presentation', style }, ...rows);
}

/** A section in a box of its own; nothing where there is nothing in it. */
export function card(title: string, ...children: readonly Child[]): Html {
  const shown = children.filter((child) => child !== null && fragment(child).html !== '');
  if (shown.length === 0) return fragment();
  const heading = element('h2', look('font-size:16px;line-height:22px;font-weight:600;margin:0 0 10px', 'ink'), title);
  return fragment(
    layout(
      'margin:0 0 12px',
      element(
        'tr',
        {},
        element('td', look(`padding:18px 20px;border-radius:8px;${FONT}`, 'card', 'ink'), heading, ...shown),
      ),
    ),
  );
}

export function note(text: Child | null): Html | null {
  return text === null ? null : element('p', look(`margin:8px 0 0;${SMALL}`, 'faint'), text);
}

export function sentence(...children: readonly Child[]): Html {
  return element('p', look('margin:0 0 8px;font-size:14px;line-height:21px', 'ink'), ...children);
}

const FILLS: Readonly<Record<Tone, ColourName>> = {
  good: 'fill-good',
  warning: 'fill-warning',
  bad: 'fill-bad',
};

/** A bar of cells, which no mail program strips. */
export function bar(share: number, fill: ColourName, height: number): Html {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  const cell = (width: number, colour: ColourName): Html | null =>
    width <= 0 ? null : element('td', { ...look('', colour), width: `${width}%`, height });
  return element(
    'table',
    { ...PLAIN, style: 'font-size:1px;line-height:1px' },
    element('tr', {}, cell(percent, fill), cell(100 - percent, 'rest')),
  );
}

/** How much of what was asked for was used: a bar in the colour of the verdict. */
export function shareBar(share: number | null, height: number): Html {
  return share === null ? bar(0, 'rest', height) : bar(share, FILLS[shareTone(share)], height);
}

export function toned(share: number | null): Html {
  return share === null
    ? element('span', look('', 'faint'), '–')
    : element('span', look('', shareTone(share)), formatPercent(share));
}

export interface Column {
  readonly head: string;
  readonly align?: 'left' | 'right';
  /** Left out where the screen is narrow. */
  readonly wide?: boolean;
  readonly width?: string;
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

/** What belongs under the row before it, across all columns. */
export interface Under {
  readonly under: Child;
}

const isUnder = (row: readonly Child[] | Under | undefined): row is Under => row !== undefined && 'under' in row;

/** A table of figures; a row of one cell goes over all columns. */
export function table(columns: readonly Column[], rows: readonly (readonly Child[] | Under)[]): Html {
  if (rows.length === 0) return fragment();
  const heads = columns.map((column) => element('th', cellAttributes(column, true), column.head));
  const across = (name: string, child: Child): Html => element('td', { class: name, colspan: columns.length }, child);
  const body = rows.map((row, index) =>
    element(
      'tr',
      { class: isUnder(rows[index + 1]) ? 'tied' : null, valign: 'top' },
      ...(isUnder(row)
        ? [across('under', row.under)]
        : row.length === 1
          ? [across('over', row[0] ?? null)]
          : columns.map((column, at) => element('td', cellAttributes(column, false), row[at] ?? null))),
    ),
  );
  const style = `${SMALL};overflow-wrap:anywhere;font-variant-numeric:tabular-nums;${FONT}`;
  return element(
    'table',
    { ...PLAIN, cellpadding: 4, ...lookAs('data', style, 'ink') },
    columns.every(({ head }) => head === '') ? null : element('tr', { ...look('', 'faint') }, ...heads),
    ...body,
  );
}

/** A piece of a command line. */
export function code(text: string): Html {
  return element('code', look(`${MONO};font-size:12px;padding:1px 5px;border-radius:4px`, 'code'), text);
}
