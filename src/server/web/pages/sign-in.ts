import { cookieFor } from '../../access/signed-in';
import type { Credential } from '../../access/sessions';
import { HttpProblem } from '../../http/http-problem';
import { queryName, type Parameters } from '../../routes/parameter';
import { route, type Route, type RouteRequest, type Site } from '../../routes/route';
import { html, type Html } from '../html';
import { HTML_TYPE, section } from '../layout';
import { pageRoute, redirect } from '../page';

const cookie = (site: Site, secret: string, seconds: number): Readonly<Record<string, string>> => ({
  'Set-Cookie': cookieFor(secret, seconds, site.url()?.startsWith('https:') === true),
});

const USED_UP = 'this link has been used, or its five minutes are over; "qmemacct web" prints a new one';

const TOKEN_FORM: Html = section(
  'With a token',
  html`<p>A token of this site shows everything that its admins can see.</p>
    <form method="post" action="/sign-in" class="filters">
      <label>Token<input name="token" type="password" autocomplete="off" required /></label>
      <button>Sign in</button>
    </form>`,
);

const SHELL: Html = section(
  'From a shell of this cluster',
  html`<p>
    <code>qmemacct web</code> prints a link that signs you in here without a password. It works once, within five
    minutes.
  </p>`,
);

async function invitation({ site }: RouteRequest<Parameters>, code: string): Promise<Html> {
  const uid = site.sessions.invited(code);
  if (uid === null) return html`<p class="alert">${USED_UP}</p>`;
  const name = (await site.names.user(uid))?.name ?? `uid ${uid}`;
  return html`<form method="post" action="/sign-in">
    <input type="hidden" name="code" value="${code}" />
    <p>This browser will see what <bdi>${name}</bdi> may see.</p>
    <button>Sign in as <bdi>${name}</bdi></button>
  </form>`;
}

const signInPage = pageRoute({
  path: '/sign-in',
  description: 'sign in with a token, or with a link of "qmemacct web"',
  parameters: { code: queryName('what "qmemacct web" printed') },
  make: async (asked) => {
    const { code } = asked.values;
    return {
      title: 'Sign in',
      body: html`<h1>Sign in</h1>
        ${code === undefined ? [SHELL, TOKEN_FORM] : html`<section>${await invitation(asked, code)}</section>`}`,
    };
  },
});

/** Throws HttpProblem if the form holds no valid code or token. */
function credentialOf({ site, form }: RouteRequest<Parameters>): Credential {
  const code = form.get('code');
  if (code !== null) {
    const uid = site.sessions.redeem(code);
    if (uid === null) throw new HttpProblem(403, USED_UP);
    return { uid };
  }
  const token = form.get('token') ?? '';
  if (!site.tokens.has(token))
    throw new HttpProblem(403, 'this token is not accepted here; ask the admins for one that is');
  return { token };
}

function postRoute(path: string, description: string, answer: Route['answer']): Route {
  return route({
    path,
    method: 'POST',
    description,
    parameters: {},
    type: HTML_TYPE,
    answer,
  });
}

const signIn = postRoute('/sign-in', 'begins a session', async (asked) => {
  const { site, signedIn } = asked;
  const credential = credentialOf(asked);
  if (signedIn !== null) site.sessions.close(signedIn.secret);
  const { secret, seconds } = await site.sessions.open(credential);
  return redirect('/', cookie(site, secret, seconds));
});

const signOut = postRoute('/sign-out', 'ends a session', ({ site, signedIn }) => {
  if (signedIn !== null) site.sessions.close(signedIn.secret);
  return redirect('/', cookie(site, '', 0));
});

export const SIGN_IN = [signInPage, signIn, signOut];
