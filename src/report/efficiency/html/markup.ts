import { escapeForHtml } from '../../escape';

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

/** Markup of our own, which holds nothing that anybody chose. */
export function verbatim(html: string): Html {
  return { html };
}
