import type { problemShape } from '../../base/problem-document';
import type { ValueOf } from '../../base/shape';
import { UserError } from '../../base/user-error';
import { makeBody, type Body } from './body';

/**
 * A request that is not answered as asked: the HTTP status and, in one line, why and what to do. `user`: who has signed
 * in and is shown it.
 */
export class HttpProblem extends UserError {
  constructor(
    readonly httpStatus: number,
    detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
    readonly user: string | null = null,
  ) {
    super(detail);
  }

  shownTo(user: string | null): HttpProblem {
    return new HttpProblem(this.httpStatus, this.message, this.headers, user);
  }
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timeout',
  413: 'Content too large',
  414: 'URI too long',
  421: 'Misdirected request',
  431: 'Request header fields too large',
  500: 'Internal error',
  503: 'Unavailable',
};

/** The problem's kind, in a few words. */
export function titleOf({ httpStatus }: HttpProblem): string {
  return TITLES[httpStatus] ?? 'Error';
}

/** Problem document (RFC 9457). */
export function problemBody(problem: HttpProblem): Body {
  const document: ValueOf<typeof problemShape> = {
    type: 'about:blank',
    title: titleOf(problem),
    status: problem.httpStatus,
    detail: problem.message,
  };
  return makeBody('application/problem+json', `${JSON.stringify(document)}\n`);
}
