import { anything, object, string } from '../../base/shape';
import { ACCOUNTING_ROUTES } from './accounting';
import { GRIDENGINE_XML_ROUTES } from './gridengine-xml';
import { JSON_TYPE, makeBody, type Body } from '../http/body';
import { healthRoute } from './health';
import { LIVE_ROUTES } from './live';
import { metricsRoute } from './metrics';
import { describeRoutes } from './openapi';
import { QMEMTOOLS_ROUTES } from './qmemtools';
import { REPORT_ROUTES } from './reports';
import { route, type Route } from './route';
import { signInLinkRoute } from './sign-in-link';
import { submissionRoute } from './submission';

/** Seconds. The description changes only with the version. */
const MAX_AGE = 3600;

/** Made once: some hundred KB, the same for all. */
let description: Body | null = null;

const openapiRoute = route({
  path: '/v1/openapi.json',
  description: 'this interface described for programs (OpenAPI 3.1)',
  parameters: {},
  schema: object({ openapi: string, info: anything, paths: anything, components: anything, security: anything }).schema,
  answer: ({ site }) => ({
    body: (description ??= makeBody(JSON_TYPE, `${JSON.stringify(describeRoutes(ROUTES, site.version))}\n`)),
    maxAge: MAX_AGE,
  }),
});

/** Everything that programs can ask: the server works by this table, and describes itself by it. */
export const ROUTES: readonly Route[] = [
  ...QMEMTOOLS_ROUTES,
  ...GRIDENGINE_XML_ROUTES,
  ...LIVE_ROUTES,
  ...ACCOUNTING_ROUTES,
  ...REPORT_ROUTES,
  submissionRoute,
  metricsRoute,
  healthRoute,
  signInLinkRoute,
  openapiRoute,
];
