import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Sessions } from '../../../src/server/access/sessions';
import { ordinary } from '../../report/sample-records';
import { ask, NOW, startTestSite, testNames, type Got, type TestSite, type TestSiteOptions } from '../test-site';
import { temporaryDirectory } from '../../support/temporary-directory';

const TOKEN = 'a-token-of-this-site';
const JOB = `/v1/job/${ordinary.job_id}`;

interface Browser {
  readonly post: (path: string, form: Readonly<Record<string, string>>, cookie?: string, from?: string) => Promise<Got>;
}

function browserOf({ port }: TestSite): Browser {
  return {
    post: (path, form, cookie, from = `http://127.0.0.1:${port}`) =>
      ask(
        { port },
        {
          path,
          method: 'POST',
          headers: { Origin: from, ...(cookie === undefined ? {} : { Cookie: cookie }) },
          body: new URLSearchParams(form).toString(),
        },
      ),
  };
}

/** A site where strangers see no jobs. */
async function privateSite(
  t: TestContext,
  more: TestSiteOptions = {},
): Promise<TestSite & { readonly tokens: string }> {
  const tokens = join(temporaryDirectory(), 'tokens');
  writeFileSync(tokens, `${TOKEN}\n`);
  chmodSync(tokens, 0o600);
  const settings = { visibility: 'own', serve_tokens: tokens } as const;
  return { ...(await startTestSite(t, { records: [ordinary], ...more, settings })), tokens };
}

const cookieOf = ({ headers }: Got): string => (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';

describe('signing in with a token', () => {
  it('shows what its holder may see, until signing out', async (t) => {
    const site = await privateSite(t);
    const browser = browserOf(site);
    assert.equal((await site.get(JOB)).status, 404);
    const signedIn = await browser.post('/sign-in', { token: TOKEN });
    assert.equal(signedIn.status, 303);
    assert.match(
      signedIn.headers['set-cookie']?.[0] ?? '',
      /^qmemacct_session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    const cookie = cookieOf(signedIn);
    assert.equal((await site.get(JOB, { Cookie: `other=1; ${cookie}` })).status, 200);
    assert.match((await site.get('/sign-in', { Cookie: cookie })).text, /Signed in: <bdi>a token<\/bdi>/);
    const missing = await site.get('/job/1', { Cookie: cookie, Accept: 'text/html' });
    assert.equal(missing.status, 404);
    assert.match(missing.text, /Signed in: <bdi>a token<\/bdi>/);
    assert.doesNotMatch(missing.text, /see more after you/);
    assert.match((await site.get('/job/1', { Accept: 'text/html' })).text, /see more after you/);
    const out = await browser.post('/sign-out', {}, cookie);
    assert.match(out.headers['set-cookie']?.[0] ?? '', /^qmemacct_session=; .*Max-Age=0/);
    assert.equal((await site.get(JOB, { Cookie: cookie })).status, 401);
  });

  it('is refused with another token, from another site, and in a form that is too large', async (t) => {
    const site = await privateSite(t);
    const browser = browserOf(site);
    assert.equal((await browser.post('/sign-in', { token: 'another-token-of-nobody' })).status, 403);
    assert.equal((await browser.post('/sign-in', { token: TOKEN }, undefined, 'https://example.org')).status, 403);
    assert.equal((await browser.post('/sign-in', { token: TOKEN }, undefined, 'null')).status, 403);
    const bare = await ask({ port: site.port }, { path: '/sign-in', method: 'POST', body: `token=${TOKEN}` });
    assert.equal(bare.status, 403);
    const large = await browser.post('/sign-in', { token: 'x'.repeat(5000) });
    assert.equal(large.status, 413);
  });

  it('ends when the token is removed', async (t) => {
    const site = await privateSite(t);
    const cookie = cookieOf(await browserOf(site).post('/sign-in', { token: TOKEN }));
    assert.equal((await site.get(JOB, { Cookie: cookie })).status, 200);
    writeFileSync(site.tokens, '# none\n');
    assert.equal((await site.get(JOB, { Cookie: cookie })).status, 401);
  });

  it('ends after twelve hours, and never counts with a forged cookie', async (t) => {
    let now = 1;
    const site = await privateSite(t, { clock: () => now });
    const cookie = cookieOf(await browserOf(site).post('/sign-in', { token: TOKEN }));
    now += 12 * 3_600_000 - 1;
    assert.equal((await site.get(JOB, { Cookie: cookie })).status, 200);
    now += 1;
    const over = await site.get(JOB, { Cookie: cookie, Accept: 'text/html' });
    assert.equal(over.status, 401);
    assert.match(over.text, /you are no longer signed in here/);
    assert.match(over.headers['set-cookie']?.[0] ?? '', /Max-Age=0/);
    for (const forged of ['x', '', 'a'.repeat(43), TOKEN, encodeURIComponent('{"uid":0}')])
      assert.equal((await site.get(JOB, { Cookie: `qmemacct_session=${forged}` })).status, 401, forged);
  });
});

describe('signing in by a link from the shell', () => {
  const HERE = process.geteuid?.() ?? 0;

  it('signs in the user at the other end of the socket, once', async (t) => {
    const names = {
      user: (uid: number) => Promise.resolve(uid === HERE ? { name: 'bob', gids: [] } : null),
      group: () => Promise.resolve(null),
    };
    const site = await privateSite(t, { names });
    assert.equal((await site.get('/v1/sign-in-link')).status, 403);
    const { url } = (await ask({ socketPath: site.socket }, { path: '/v1/sign-in-link' })).json() as { url: string };
    assert.ok(url.startsWith(`http://127.0.0.1:${site.port}/sign-in?code=`), url);
    const code = new URL(url).searchParams.get('code') ?? '';
    // Viewing the page does not use up the code.
    for (const path of [`/sign-in?code=${code}`, `/sign-in?code=${code}`])
      assert.match((await site.get(path)).text, /Sign in as <bdi>bob<\/bdi>/);
    const cookie = cookieOf(await browserOf(site).post('/sign-in', { code }));
    assert.equal((await site.get(JOB, { Cookie: cookie })).status, 200);
    const again = await browserOf(site).post('/sign-in', { code });
    assert.equal(again.status, 403);
    assert.match(again.text, /has been used/);
    assert.match((await site.get(`/sign-in?code=${code}`)).text, /has been used/);
  });
});

describe('Sessions', () => {
  it('keep an invitation for five minutes', async () => {
    let now = 1;
    const sessions = new Sessions(testNames, () => now);
    const { code, seconds } = await sessions.invite(1001);
    assert.equal(seconds, 300);
    now += 299_999;
    assert.equal(sessions.invited(code), 1001);
    now++;
    assert.equal(sessions.redeem(code), null);
  });

  it('keep sessions and invitations when the clock is set', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: NOW });
    const sessions = new Sessions(testNames);
    const { secret } = await sessions.open({ uid: 1001 });
    const { code } = await sessions.invite(1001);
    for (const set of [NOW + 13 * 3_600_000, NOW - 13 * 3_600_000]) {
      t.mock.timers.setTime(set);
      assert.deepEqual(sessions.credentialOf(secret), { uid: 1001 });
      assert.equal(sessions.invited(code), 1001);
    }
  });

  it('drop only the oldest of the same user or token', async () => {
    const sessions = new Sessions(testNames);
    const { secret: alice } = await sessions.open({ uid: 1001 });
    const { code } = await sessions.invite(1001);
    const ofBob: string[] = [];
    const codesOfBob: string[] = [];
    const ofToken: string[] = [];
    for (let one = 0; one < 300; one++) {
      // Sub-uids of bob, unknown to the name service.
      ofBob.push((await sessions.open({ uid: 100_000 + one })).secret);
      codesOfBob.push((await sessions.invite(100_000 + one)).code);
      ofToken.push((await sessions.open({ token: TOKEN })).secret);
    }
    assert.deepEqual(sessions.credentialOf(alice), { uid: 1001 });
    assert.equal(sessions.redeem(code), 1001);
    const open = (secrets: readonly string[]): readonly string[] =>
      secrets.filter((secret) => sessions.credentialOf(secret) !== null);
    assert.deepEqual(open(ofBob), ofBob.slice(-100));
    assert.deepEqual(open(ofToken), ofToken.slice(-100));
    const valid = codesOfBob.filter((one) => sessions.invited(one) !== null);
    assert.deepEqual(valid, codesOfBob.slice(-5));
  });
});
