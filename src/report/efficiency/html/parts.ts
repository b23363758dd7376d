import { truncate } from '../../screen/text-width';
import { escapeForTerminal } from '../../format/escape';
import { shareTone } from '../../screen/gauge';
import type { Tone } from '../../screen/screen';
import { FONT, look, MONO, type ColourName, element, fragment, type Child, type Html } from './markup';

/** Attributes in place of styles are shorter: Gmail cuts off a mail after 102 kB. */
export const PLAIN = { cellpadding: 0, cellspacing: 0, width: '100%' } as const;
export const SMALL = 'font-size:13px;line-height:18px';
const LONGEST_NAME = 48;

/** Text that a user chose: escaped, kept apart from its neighbours (`bdi`), and cut if it is long. */
export function named(text: string): Html {
  return element('bdi', {}, truncate(escapeForTerminal(text), LONGEST_NAME, '…'));
}

/** A table for layout only. */
export function layout(style: string, ...rows: readonly Child[]): Html {
  return element('table', { ...PLAIN, role: 'presentation', style }, ...rows);
}

/** A section in a box of its own; empty where it has no content. */
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

/** A bar made of table cells, which no mail program strips. */
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

/** How much of the request was used: a bar in the colour of the verdict. */
export function shareBar(share: number | null, height: number): Html {
  return share === null ? bar(0, 'rest', height) : bar(share, FILLS[shareTone(share)], height);
}

/** A piece of a command line. */
export function code(text: string): Html {
  return element(
    'code',
    look(`${MONO};font-size:12px;padding:1px 5px;border-radius:4px;white-space:nowrap`, 'code'),
    text,
  );
}
