import { checkJson, type Shape } from '../../base/shape';
import type { AccountingQuery } from '../accounting/answer-query';
import { makeBody, type Body } from '../http/body';
import { HttpProblem } from '../http/http-problem';
import type { Parameters } from '../routes/parameter';
import { route, type Route, type RouteAnswer, type RouteRequest } from '../routes/route';
import { HTML_TYPE, PAGE_HEADERS, pageDocument, type Page } from './layout';

interface PageDefinition<P extends Parameters> {
  readonly path: string;
  readonly description: string;
  readonly parameters: P;
  readonly isForm?: true;
  /** Throws or rejects with HttpProblem. */
  readonly make: (asked: RouteRequest<P>) => Page | Promise<Page>;
}

/** How often a browser reloads a page whose figures change, if that was asked for. */
export const RELOAD_SECONDS = 30;

/** The body of a page, with the name of the signed-in user in its header. */
export function pageBody(page: Page, path: string, { signedIn }: Pick<RouteRequest<Parameters>, 'signedIn'>): Body {
  return makeBody(HTML_TYPE, pageDocument(page, { path, user: signedIn?.name ?? null }));
}

/** A page as it is sent; with `reload` the browser reloads it again and again. */
export function pageAnswer(body: Body, reload = false): RouteAnswer {
  const headers = reload ? { ...PAGE_HEADERS, Refresh: String(RELOAD_SECONDS) } : PAGE_HEADERS;
  return { body, maxAge: 0, headers };
}

/** Leads the browser to another page of this site. */
export function redirect(path: string, headers: Readonly<Record<string, string>> = {}): RouteAnswer {
  return { status: 303, headers: { ...headers, Location: path }, body: makeBody('text/plain', ''), maxAge: 0 };
}

/** A page as a route. A parameter `reload` makes the browser load it again and again. */
export function pageRoute<P extends Parameters>({ make, ...definition }: PageDefinition<P>): Route {
  return route({
    ...definition,
    type: HTML_TYPE,
    answer: async (asked) => {
      const { reload = false } = asked.values as { readonly reload?: boolean };
      return pageAnswer(pageBody(await make(asked), definition.path, asked), reload);
    },
  });
}

/** On whose behalf a page asks. */
export type Asker = Pick<RouteRequest<Parameters>, 'site' | 'access' | 'requester'>;

/** What the accounting DB answers to this caller: the published answer, read by its published shape. */
export async function askAccounting<T>(
  { site, access, requester }: Asker,
  question: AccountingQuery,
  shape: Shape<T>,
): Promise<T> {
  const bytes = await site.accounting.ask(question, access, requester);
  const read = checkJson(shape, bytes.toString('utf8'), 'the answer');
  if (!read.ok) throw new Error(read.error);
  return read.value;
}

/** Like askAccounting; null: nothing is known (404), or the caller may not ask for it (403). */
export async function askIfKnown<T>(asked: Asker, question: AccountingQuery, shape: Shape<T>): Promise<T | null> {
  try {
    return await askAccounting(asked, question, shape);
  } catch (error) {
    if (error instanceof HttpProblem && (error.httpStatus === 404 || error.httpStatus === 403)) return null;
    throw error;
  }
}
