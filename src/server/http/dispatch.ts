import type { IncomingHttpHeaders } from 'node:http';
import { HttpProblem } from './http-problem';
import type { Parameters } from '../routes/parameter';
import type { RouteAnswer, RouteRequest, Route, Site } from '../routes/route';

/** Longest path and query together. */
const LONGEST_TARGET = 7000;
/** A body that no route asks for is ignored up to this size, and refused above it. */
const LARGEST_BODY_BYTES = 64 * 1024;

/** The parts of a request that decide its answer. */
export interface Request {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: Pick<IncomingHttpHeaders, 'content-length' | 'transfer-encoding' | 'origin' | 'host'>;
  /** Its body, of a few KiB at most. Rejects with HttpProblem. */
  readonly body: () => Promise<string>;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new HttpProblem(400, 'the path holds a % that is not a code; write %25 for it');
  }
}

/** Values of the pattern's parts in braces, as sent; null: the path does not match. */
function matchPath(pattern: readonly string[], parts: readonly string[]): ReadonlyMap<string, string> | null {
  if (pattern.length !== parts.length) return null;
  const found = new Map<string, string>();
  for (const [index, expected] of pattern.entries()) {
    const part = parts[index] ?? '';
    if (expected.startsWith('{')) found.set(expected.slice(1, -1), part);
    else if (expected !== part) return null;
  }
  return found;
}

function readValue(parameters: Parameters, name: string, given: string, now: number): unknown {
  const parameter = parameters[name];
  const value = parameter?.read(given, now) ?? null;
  if (value === null) throw new HttpProblem(400, `"${name}" is invalid; write ${parameter?.expected ?? 'another'}`);
  return value;
}

/** The parameters of the query, as written. Throws HttpProblem for one that is unknown or given twice. */
function readQuery({ parameters, isForm }: Route, query: string): readonly (readonly [name: string, text: string])[] {
  const known = Object.keys(parameters).filter((name) => parameters[name]?.in === 'query');
  const given = [...new URLSearchParams(query)].filter(([, value]) => isForm === undefined || value !== '');
  const names = new Set(given.map(([name]) => name));
  if (names.size < given.length) throw new HttpProblem(400, 'a parameter is given twice; give it once');
  if (![...names].every((name) => known.includes(name)))
    throw new HttpProblem(
      400,
      known.length === 0
        ? 'this address takes no parameters'
        : `an unknown parameter; known here are ${known.join(', ')}`,
    );
  return given;
}

function checkFrame({ target, headers }: Request): void {
  if (target.length > LONGEST_TARGET)
    throw new HttpProblem(414, `the address is longer than ${LONGEST_TARGET} characters`);
  if (!target.startsWith('/')) throw new HttpProblem(400, 'the address does not begin with a /');
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (encoding !== undefined || Number(length ?? 0) > LARGEST_BODY_BYTES)
    throw new HttpProblem(413, 'requests here have no body; leave it out', { Connection: 'close' });
}

/** Throws HttpProblem unless a form was sent by a page of this site: another site's page must not act for its reader. */
function checkOrigin({ origin, host }: Request['headers'], url: string | null): void {
  const own = [host, url === null ? undefined : new URL(url).host];
  if (origin === undefined || !URL.canParse(origin) || !own.includes(new URL(origin).host))
    throw new HttpProblem(403, 'this form was not sent by a page of this server; open its own page and send it there');
}

/** The form that was sent; empty if the route takes none. */
async function readForm(route: Route, request: Request, { site }: { readonly site: Site }): Promise<URLSearchParams> {
  if (route.method !== 'POST') return new URLSearchParams();
  checkOrigin(request.headers, site.url());
  return new URLSearchParams(await request.body());
}

const answersTo = ({ method }: Route, asked: string): boolean =>
  method === undefined ? asked === 'GET' || asked === 'HEAD' : method === asked;

/** Turns a table of routes into one function that answers a request. That function rejects with HttpProblem. */
export function dispatcher(
  routes: readonly Route[],
): (request: Request, context: Omit<RouteRequest<Parameters>, 'values' | 'query' | 'form'>) => Promise<RouteAnswer> {
  const table = routes.map((route) => ({ route, pattern: route.path.split('/') }));
  return async (request, context) => {
    const { now } = context;
    checkFrame(request);
    const [path = '', ...rest] = request.target.split('?');
    const parts = path.split('/');
    for (const { route, pattern } of table) {
      const inPath = answersTo(route, request.method) ? matchPath(pattern, parts) : null;
      if (inPath === null) continue;
      const query = readQuery(route, rest.join('?'));
      const given = [...[...inPath].map(([name, part]) => [name, decode(part)] as const), ...query];
      const values = Object.fromEntries(
        given.map(([name, text]) => [name, readValue(route.parameters, name, text, now)] as const),
      );
      const form = await readForm(route, request, context);
      return route.answer({ ...context, values, query: Object.fromEntries(query), form });
    }
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new HttpProblem(405, 'only GET and HEAD are answered here', { Allow: 'GET, HEAD' });
    throw new HttpProblem(404, 'nothing is at this address; /v1 lists what can be asked');
  };
}
