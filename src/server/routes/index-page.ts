import { escapeForHtml } from '../../report/format/escape';
import type { Route } from './route';

/** A page for who looks in with a browser: what can be asked here. */
export function indexPage(routes: readonly Route[], version: string): string {
  const items = routes.map(({ path, says }) => {
    const shown = `<code>${escapeForHtml(path)}</code>`;
    const linked = path.includes('{') ? shown : `<a href="${escapeForHtml(path)}">${shown}</a>`;
    return `<dt>${linked}</dt><dd>${escapeForHtml(says)}</dd>`;
  });
  return [
    '<!DOCTYPE html>',
    '<html lang="en"><head><meta charset="utf-8"><title>qmemacct</title>',
    '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"></head><body>',
    `<h1>qmemacct ${escapeForHtml(version)}</h1>`,
    '<p>Memory and efficiency of Grid Engine jobs. What can be asked here, as JSON:</p>',
    `<dl>\n${items.join('\n')}\n</dl>`,
    '</body></html>',
    '',
  ].join('\n');
}
