import { escapeForHtml } from '../../format/escape';

/**
 * Colours are given twice: in the elements, for mail programs that read nothing else, and as classes for dark mode,
 * which override them where a program knows `prefers-color-scheme`.
 */
interface Colour {
  readonly property: string;
  readonly light: string;
  readonly dark: string;
}

const text = (light: string, dark: string): Colour => ({ property: 'color', light, dark });
const back = (light: string, dark: string): Colour => ({ property: 'background-color', light, dark });

const COLOURS = {
  ink: text('#1c2128', '#e4e7eb'),
  faint: text('#5f6873', '#9aa4af'),
  good: text('#1a7544', '#4cc38a'),
  warning: text('#9a5b00', '#f0b04f'),
  bad: text('#b8302a', '#ff857c'),
  accent: text('#2563c9', '#79a8ff'),
  page: back('#f3f4f6', '#0f1216'),
  card: back('#ffffff', '#181c22'),
  used: back('#2f6fde', '#5b93f5'),
  asked: back('#c8d8f6', '#2c436d'),
  rest: back('#e9ecf0', '#2a3038'),
  alert: back('#fff5e0', '#33270f'),
  code: back('#eef1f4', '#262d36'),
  'fill-good': back('#2e9e66', '#3fb27f'),
  'fill-warning': back('#e0a030', '#d99a2b'),
  'fill-bad': back('#d04a40', '#e5635a'),
} as const satisfies Readonly<Record<string, Colour>>;

export type ColourName = keyof typeof COLOURS;

/** Attributes of an element: its own style, and colours that follow the reader's light or dark mode. */
export function look(style: string, ...colours: readonly ColourName[]): Attributes {
  const own = colours.map((name) => `${COLOURS[name].property}:${COLOURS[name].light}`);
  return { class: colours.join(' '), style: [...own, ...(style === '' ? [] : [style])].join(';') };
}

/** As `look`, with a class of SHEET: elements of class `wide` are hidden on narrow screens. */
export function lookAs(name: string, style: string, ...colours: readonly ColourName[]): Attributes {
  const { class: classes, ...rest } = look(style, ...colours);
  return { class: [name, classes].join(' ').trim(), ...rest };
}

const dark = Object.entries(COLOURS)
  .map(([name, colour]) => `.${name}{${colour.property}:${colour.dark}!important}`)
  .join('');
const light = Object.entries(COLOURS)
  .map(([name, colour]) => `.${name}{${colour.property}:${colour.light}!important}`)
  .join('');

const LINE = { light: '#e2e5ea', dark: '#2e353f' } as const;

/** Styles that can't be inline, and those that would be repeated too often. */
export const SHEET =
  `:root{color-scheme:light dark}` +
  `.data td,.data th{padding:6px 0 6px 12px;border-bottom:1px solid ${LINE.light}}` +
  `.data th{padding-top:4px;padding-bottom:4px;font-weight:400}` +
  `.data td:first-child,.data th:first-child{padding-left:0}` +
  `.data table td{padding:0;border:0}.data .over{padding:12px 0 2px;border:0}.data .tied td{border:0}.data .under{padding:0 0 8px}` +
  `@media (prefers-color-scheme:dark){${dark}.data td,.data th{border-color:${LINE.dark}}}` +
  `@media (max-width:620px){` +
  `.wide{display:none!important}` +
  `.tile{display:inline-block!important;width:49%!important;box-sizing:border-box!important}` +
  `.half{display:block!important;width:100%!important;padding-left:0!important;padding-right:0!important}` +
  `.card{padding:14px 12px!important}.outer{padding:6px!important}}` +
  `@media print{${light}.data td,.data th{border-color:${LINE.light}}.page{background-color:#fff!important}.card{border-radius:0!important;padding:10px 0!important}` +
  `.outer{padding:0!important}h2,.data tr,.whole{break-inside:avoid}h2{break-after:avoid}}`;

export const FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
export const MONO = 'font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace';

/** Markup that is safe to print: made by `element`, which escapes every string that it is given. */
export interface Html {
  readonly html: string;
}

export type Child = Html | string | null;
export type Attributes = Readonly<Record<string, string | number | null>>;

/** Elements without content; no other is closed by its own tag. */
const VOID: ReadonlySet<string> = new Set(['meta', 'br', 'hr']);

export function fragment(...children: readonly Child[]): Html {
  const parts = children.map((child) =>
    child === null ? '' : typeof child === 'string' ? escapeForHtml(child) : child.html,
  );
  return { html: parts.join('') };
}

/** An element; attributes that are null or '' are left out, strings are escaped. */
export function element(tag: string, attributes: Attributes, ...children: readonly Child[]): Html {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => ` ${name}="${escapeForHtml(String(value))}"`)
    .join('');
  const open = `<${tag}${written}>`;
  return { html: VOID.has(tag) ? open : `${open}${fragment(...children).html}</${tag}>` };
}

/** Markup of our own: it must contain no text that anybody else chose. */
export function verbatim(html: string): Html {
  return { html };
}
