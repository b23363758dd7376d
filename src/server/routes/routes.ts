import { anything, object, string } from '../../base/shape';
import { escapeForHtml } from '../../report/format/escape';
import { ACCOUNTING_ROUTES } from './accounting';
import { GRIDENGINE_XML_ROUTES } from './gridengine-xml';
import { JSON_TYPE, makeBody } from '../http/body';
import { healthRoute } from './health';
import { LIVE_ROUTES } from './live';
import { metricsRoute } from './metrics';
import { describeRoutes } from './openapi';
import { QMEMTOOLS_ROUTES } from './qmemtools';
import { route, type Route } from './route';

/** These change with the version only. */
const MAX_AGE = 3600;

const openapiRoute = route({
  path: '/v1/openapi.json',
  description: 'this interface described for programs (OpenAPI 3.1)',
  parameters: {},
  type: JSON_TYPE,
  schema: object({ openapi: string, info: anything, paths: anything, components: anything, security: anything }).schema,
  problems: [],
  answer: ({ site }) => ({
    body: makeBody(JSON_TYPE, `${JSON.stringify(describeRoutes(ROUTES, site.version))}\n`),
    maxAge: MAX_AGE,
  }),
});

/** A page for who looks in with a browser: what can be asked here. */
function indexPage(routes: readonly Route[], version: string): string {
  const items = routes.map(({ path, description }) => {
    const shown = `<code>${escapeForHtml(path)}</code>`;
    const linked = path.includes('{') ? shown : `<a href="${escapeForHtml(path)}">${shown}</a>`;
    return `<dt>${linked}</dt><dd>${escapeForHtml(description)}</dd>`;
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

const indexRoute = route({
  path: '/',
  description: 'this list',
  parameters: {},
  type: 'text/html; charset=utf-8',
  schema: null,
  problems: [],
  answer: ({ site }) => ({
    body: makeBody('text/html; charset=utf-8', indexPage(ROUTES, site.version)),
    maxAge: MAX_AGE,
  }),
});

/** Everything that can be asked: the server works by this table, and describes itself by it. */
export const ROUTES: readonly Route[] = [
  indexRoute,
  ...QMEMTOOLS_ROUTES,
  ...GRIDENGINE_XML_ROUTES,
  ...LIVE_ROUTES,
  ...ACCOUNTING_ROUTES,
  metricsRoute,
  healthRoute,
  openapiRoute,
];
