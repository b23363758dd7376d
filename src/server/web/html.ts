import { escapeForHtml } from '../../report/format/escape';

let made: (text: string) => Html;

/** Markup that is safe to send: only the templates below make it. */
export class Html {
  static {
    made = (text) => new Html(text);
  }

  private readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** What a template may hold: strings and numbers are escaped, null is nothing. */
export type Child = Html | string | number | null | readonly Child[];

/** Where a value stands in a template. `link`: in an attribute that holds an address. */
type Place = 'text' | 'attribute' | 'link';

const LINKS: ReadonlySet<string> = new Set(['href', 'src', 'action', 'formaction', 'xlink:href']);
/** Attributes and elements that hold a program or a style: no value may stand there. */
const CODE_ATTRIBUTE = /^(?:on|style$|srcdoc$|srcset$)/;
const CODE_ELEMENT = /<(?:script|style|!--)(?![a-z])/i;

/** The attribute in whose quotes `before` ends; null: it ends outside any tag. Throws if it ends elsewhere in a tag. */
function openAttribute(before: string): string | null {
  const tag = before.lastIndexOf('<');
  if (tag <= before.lastIndexOf('>')) return null;
  const quoted = /\s([a-z][a-z0-9:-]*)="[^"]*$/i.exec(before.slice(tag).replace(/="[^"]*"/g, ''));
  if (quoted?.[1] === undefined) throw new Error(`a value stands in a tag, outside of quotes: ${before.slice(tag)}`);
  return quoted[1].toLowerCase();
}

function placeOf(before: string): Place {
  if (CODE_ELEMENT.test(before)) throw new Error('a template with values has no scripts, styles or comments');
  const attribute = openAttribute(before);
  if (attribute === null) return 'text';
  if (CODE_ATTRIBUTE.test(attribute)) throw new Error(`no value may stand in the attribute ${attribute}`);
  return LINKS.has(attribute) ? 'link' : 'attribute';
}

/** A template's own markup, without the blanks that only arrange it in the source, and where each value stands. */
interface Template {
  readonly first: string;
  readonly rest: readonly { readonly place: Place; readonly after: string }[];
}

const known = new WeakMap<TemplateStringsArray, Template>();

/** Parses each template once. */
function templateOf(pieces: TemplateStringsArray): Template {
  const found = known.get(pieces);
  if (found !== undefined) return found;
  const [first = '', ...others] = pieces.map((piece) => piece.replace(/\s*\n\s*/g, '\n'));
  let before = first;
  const rest = others.map((after) => {
    const place = placeOf(before);
    before += after;
    return { place, after };
  });
  const template = { first, rest };
  known.set(pieces, template);
  return template;
}

function textOf(child: Child): string {
  if (child === null) return '';
  if (typeof child === 'string') return escapeForHtml(child);
  if (typeof child === 'number') return String(child);
  return child instanceof Html ? child.toString() : child.map(textOf).join('');
}

function attributeOf(value: Child): string {
  if (typeof value === 'string' || typeof value === 'number') return textOf(value);
  throw new Error('an attribute holds a string or a number');
}

/** Within this site only: `/path`, `?query`, `#place`. */
function linkOf(value: Child): string {
  if (typeof value !== 'string' || !/^(?:[?#]|\/(?![/\\]))/.test(value))
    throw new Error('a link leads within this site');
  return attributeOf(value);
}

const WRITE: Readonly<Record<Place, (value: Child) => string>> = { text: textOf, attribute: attributeOf, link: linkOf };

/**
 * Makes markup from a template. Values may stand in text, or in an attribute's double quotes; they are escaped for
 * their place. Throws Error if a value stands anywhere else, or a link leads to another site: both are bugs.
 */
export function html(pieces: TemplateStringsArray, ...values: readonly Child[]): Html {
  const { first, rest } = templateOf(pieces);
  const written = rest.map(({ place, after }, index) => WRITE[place](values[index] ?? null) + after);
  return made(first + written.join(''));
}

type Query = Readonly<Record<string, string | number | null | undefined>>;

/** An address within this site with its query; null and empty values are left out. */
export function linkTo(path: string, query: Query = {}): string {
  return samePage(
    path,
    Object.fromEntries(Object.entries(query).map(([name, value]) => [name, value === '' ? null : value])),
  );
}

/** The address of the page asked for by this query, with changes; null values are left out, empty ones (flags) kept. */
export function samePage(path: string, query: Query, changes: Query = {}): string {
  const given = Object.entries({ ...query, ...changes }).flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

/** A name that a user of the cluster chose, isolated from the text around it whatever its writing direction. */
export function named(name: string): Html {
  return html`<bdi>${name}</bdi>`;
}
