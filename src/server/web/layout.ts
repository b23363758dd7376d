import { html, linkTo, type Html } from './html';

interface PageFrame {
  /** Path of the page, to mark it among the others; '' for none. */
  readonly path: string;
  /** Who has signed in; null: nobody. */
  readonly user: string | null;
}

export interface Page {
  readonly title: string;
  readonly body: Html;
}

const PAGES: readonly (readonly [path: string, name: string])[] = [
  ['/', 'Now'],
  ['/jobs', 'Jobs'],
  ['/cluster', 'Cluster'],
  ['/nodes', 'Hosts'],
  ['/v1', 'Interface'],
];

/** Headers of every page: only the site's own script runs, and nothing is loaded from elsewhere. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // With no-referrer, a browser would send forms with "Origin: null", which dispatch.ts refuses.
  'Referrer-Policy': 'same-origin',
};

export const HTML_TYPE = 'text/html; charset=utf-8';

const SCRIPT = html`<script src="/script.js" defer></script>`;

function navigation(current: string): Html {
  const links = PAGES.map(([path, name]) =>
    path === current ? html`<a href="${path}" aria-current="page">${name}</a>` : html`<a href="${path}">${name}</a>`,
  );
  return html`<nav aria-label="Pages">${links}</nav>`;
}

function userForm(user: string | null): Html {
  if (user === null) return html`<a href="${linkTo('/sign-in')}">Sign in</a>`;
  return html`<form method="post" action="/sign-out">
    <span>Signed in: <bdi>${user}</bdi></span
    ><button>Sign out</button>
  </form>`;
}

/** A page as the document that is sent. */
export function pageDocument({ title, body }: Page, { path, user }: PageFrame): string {
  const document = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <title>${title} – qmemacct</title>
      <meta name="viewport" content="width=device-width,initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <link rel="stylesheet" href="/style.css" />
      ${SCRIPT}
      <link rel="icon" href="/icon.svg" type="image/svg+xml" />
    </head>
    <body>
      <a class="skip" href="#main">Skip to the content</a>
      <header>
        <a class="brand" href="/"><img src="/icon.svg" alt="" width="20" height="20" />qmemacct</a>
        ${navigation(path)}
        <form action="/job" role="search">
          <input name="job" aria-label="Job number" placeholder="Job number" inputmode="decimal" size="11" required />
          <button>Show</button>
        </form>
        ${userForm(user)}
      </header>
      <main id="main" tabindex="-1">${body}</main>
      <footer>qmemacct: memory and efficiency of Grid Engine jobs.</footer>
    </body>
  </html>`;
  return `<!DOCTYPE html>\n${document.toString()}\n`;
}

/** Links to choose from; the current choice has no link (null). */
export function choices(items: readonly (readonly [text: string, link: string | null])[]): Html | null {
  if (items.length === 0) return null;
  const shown = items.map(([text, link]) =>
    link === null
      ? html`<li><strong aria-current="true">${text}</strong></li>`
      : html`<li><a href="${link}">${text}</a></li>`,
  );
  return html`<ul class="choices only-screen">
    ${shown}
  </ul>`;
}

/** A part of a page under a heading of its own. */
export function section(title: string | Html, ...children: readonly (Html | null)[]): Html {
  return html`<section>
    <h2>${title}</h2>
    ${children}
  </section>`;
}
