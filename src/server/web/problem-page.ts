import { makeBody, type Body } from '../http/body';
import { titleOf, type HttpProblem } from '../http/http-problem';
import { html } from './html';
import { HTML_TYPE, PAGE_HEADERS, pageDocument } from './layout';

/** Whether the client wants pages: a browser names text/html, other programs accept anything. */
export function takesHtml(accepted: string | undefined): boolean {
  return /\btext\/html\b/i.test(accepted ?? '');
}

/** A problem as a page, with the same words as in the document for programs. */
export function problemPage(problem: HttpProblem): {
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
} {
  const title = titleOf(problem);
  const { user, httpStatus } = problem;
  const signIn =
    user === null && [401, 403, 404].includes(httpStatus)
      ? html`<p>You may see more after you <a href="/sign-in">sign in</a>.</p>`
      : null;
  const body = html`<h1>${title}</h1>
    <section>
      <p>${problem.message}</p>
      ${signIn}
    </section>`;
  return {
    body: makeBody(HTML_TYPE, pageDocument({ title, body }, { path: '', user })),
    headers: PAGE_HEADERS,
  };
}
