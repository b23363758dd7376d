import { LIVE_PARTS } from '../../report/live/json';
import type { Parameter } from './parameter';
import { named, type Schema } from '../../base/shape';
import { ANSWER_PARTS } from '../accounting/answer-shapes';
import { problemShape } from '../../base/problem-document';
import type { Route } from './route';

/** Problems that every request can have. */
const COMMON_PROBLEMS = [400, 401, 405, 421] as const;

function parameterOf([name, parameter]: [string, Parameter<unknown>]): Schema {
  return {
    name,
    in: parameter.in,
    description: parameter.description,
    required: parameter.in === 'path',
    schema: parameter.schema,
  };
}

/** Name of an operation: `getV1JobByJob`. */
function operationId(path: string): string {
  const words = path.split(/[/.]/).filter((word) => word !== '');
  const capital = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
  const camel = (word: string): string => word.split('-').map(capital).join('');
  return `get${words.map((word) => (word.startsWith('{') ? `By${camel(word.slice(1, -1))}` : camel(word))).join('')}`;
}

function operation(route: Route): Schema {
  const problem = {
    description: 'a problem',
    content: { 'application/problem+json': { schema: named(problemShape, 'Problem').schema } },
  };
  const content = { [route.type]: route.schema === null ? {} : { schema: route.schema } };
  return {
    operationId: operationId(route.path),
    summary: route.description,
    parameters: Object.entries(route.parameters).map(parameterOf),
    responses: {
      200: { description: 'the answer', content },
      304: { description: 'the caller has it already (If-None-Match)' },
      ...Object.fromEntries([...COMMON_PROBLEMS, ...route.problems].map((status) => [status, problem])),
    },
  };
}

/** Description of the interface (OpenAPI 3.1), made from the table of routes that the server itself works by. */
export function describeRoutes(routes: readonly Route[], version: string): Schema {
  return {
    openapi: '3.1.0',
    info: {
      title: 'qmemacct',
      version,
      description:
        'Memory and efficiency of Grid Engine jobs: the running cluster and the accounting DB. Memory in bytes. ' +
        'Without a token, and over the unix socket by the user who connects, an answer holds what the site shows ' +
        '(visibility, serve_names).',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // No token is needed for what everybody may see.
    security: [{}, { token: [] }],
    paths: Object.fromEntries(routes.map((route) => [route.path, { get: operation(route) }])),
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'a token of the site (serve_tokens)' } },
      schemas: { Problem: problemShape.schema, ...LIVE_PARTS, ...ANSWER_PARTS },
    },
  };
}
