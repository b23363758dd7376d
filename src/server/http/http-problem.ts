import { makeBody, type Body } from './body';

/** A request that is not answered as asked: status and, in one line, why and what to do. */
export class HttpProblem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.name = 'HttpProblem';
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

/** Problem document (RFC 9457). */
export function problemBody({ status, message }: HttpProblem): Body {
  const document = { type: 'about:blank', title: TITLES[status] ?? 'Error', status, detail: message };
  return makeBody('application/problem+json', `${JSON.stringify(document)}\n`);
}
