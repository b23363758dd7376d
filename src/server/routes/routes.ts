import { ACCOUNTING_ROUTES } from './accounting';
import { JSON_TYPE, makeBody } from '../http/body';
import { healthRoute } from './health';
import { indexPage } from './index-page';
import { LIVE_ROUTES } from './live';
import { describeRoutes } from './openapi';
import { QMEMTOOLS_ROUTES } from './qmemtools';
import { route, type Route } from './route';
import { object, text } from './schema';

/** These change with the version only. */
const MAX_AGE = 3600;

const openapiRoute = route({
  path: '/v1/openapi.json',
  says: 'this interface described for programs (OpenAPI 3.1)',
  parameters: {},
  type: JSON_TYPE,
  schema: object<{ openapi: string; info: unknown; paths: unknown; components: unknown; security: unknown }>({
    openapi: text,
    info: { type: 'object' },
    paths: { type: 'object' },
    components: { type: 'object' },
    security: { type: 'array' },
  }),
  problems: [],
  answer: ({ site }) => ({
    body: makeBody(JSON_TYPE, `${JSON.stringify(describeRoutes(ROUTES, site.version))}\n`),
    maxAge: MAX_AGE,
  }),
});

const indexRoute = route({
  path: '/',
  says: 'this list',
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
  ...LIVE_ROUTES,
  ...ACCOUNTING_ROUTES,
  healthRoute,
  openapiRoute,
];
