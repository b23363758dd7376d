import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { after, before, describe, it, type TestContext } from 'node:test';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { check, integer, list, nullable, object, string } from '../../../src/base/shape';
import { groupBy } from '../../../src/base/group-by';
import { nameClass } from '../../../src/record/name-class';
import { siteWeek, WEEK_MS } from '../../bench/history-week';
import { busySnapshots } from '../../live/busy-snapshot';
import { COMMAND } from '../../support/qmemacct';
import { GIB, sampleSnapshot, workedExample } from '../../live/snapshots';
import {
  arrayOfTwenty,
  hostile,
  killedAtLimit,
  mpiMaster,
  mpiTask,
  ordinary,
  running,
} from '../../report/sample-records';
import { liveStateOf, NOW, sharedSite, startTestSite, type TestSite, type TestSiteOptions } from '../test-site';
import { temporaryDirectory } from '../../support/temporary-directory';

const CHROMIUM = '/usr/bin/chromium';
const skip = existsSync(CHROMIUM) ? false : `no browser at ${CHROMIUM}`;

/** Any user who is not root. */
const NOBODY = 65534;
const TOKEN = 'a-token-of-this-site';
const NOVEMBER = 'since=2026-11-01&until=2026-12-01';
const RECORDS = [
  ...[ordinary, killedAtLimit, running, { ...hostile, requests: {} }],
  ...[...arrayOfTwenty, mpiMaster(4), mpiTask(1), mpiTask(2)],
];
const PATHS: readonly (readonly [name: string, path: string])[] = [
  ['now', '/'],
  ['jobs', `/jobs?${NOVEMBER}`],
  ['owner', `/jobs?owner=bob&${NOVEMBER}`],
  ['cluster', '/cluster?since=2026-11-01'],
  ['job', '/job/4711'],
  ['killed', '/job/4712'],
  ['running', '/job/4715'],
  ['hostile', '/job/4718'],
  ['array', '/job/4720'],
  ['parallel', '/job/4800'],
  ['class', '/class?owner=bob&job_name=align_reads'],
  ['compare', '/compare?jobs=4711,4712,4720'],
  ['interface', '/v1'],
  ['sign-in', '/sign-in'],
  ['problem', '/job/1'],
];

/** Where to write pictures of all pages (NAME.png) and those for the manual (NAME.webp); undefined: nowhere. */
const PICTURES = process.env.QMEMACCT_SCREENSHOTS;
/** The pages shown in the manual, with a week of a site's jobs: height in px. */
const SHOWN: readonly (readonly [name: string, path: string, height: number])[] = [
  ['now', '/?owner=user7&shade=requested', 900],
  ['job', '/job/4711', 1010],
  ['array', '/job/4720', 820],
  ['owner', '/jobs?owner=user000', 900],
  ['class', '/class?owner=user000&job_name=KIND', 900],
  ['cluster', '/cluster?since=7d', 820],
];
const PICTURE_WIDTH = 1000;
const MOST_PICTURE_BYTES = 60_000;

interface Reader {
  readonly page: Page;
  readonly origin: string;
  /** The console errors so far, and the URLs loaded. */
  readonly complaints: readonly string[];
  readonly loaded: readonly string[];
}

const sampleSite = sharedSite({ records: RECORDS, snapshot: sampleSnapshot() });
let browser: Browser | null = null;

async function openReader(t: TestContext, site: TestSite, options: BrowserContextOptions = {}): Promise<Reader> {
  if (browser === null) throw new Error('the browser has not been started');
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  t.after(() => context.close());
  // No time limits: the machine may be busy.
  context.setDefaultTimeout(0);
  const page = await context.newPage();
  const complaints: string[] = [];
  const loaded: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => loaded.push(request.url()));
  return { page, origin: `http://127.0.0.1:${site.port}`, complaints, loaded };
}

async function privateSite(t: TestContext, more: TestSiteOptions = {}): Promise<TestSite> {
  const tokens = join(temporaryDirectory(), 'tokens');
  writeFileSync(tokens, `${TOKEN}\n`);
  chmodSync(tokens, 0o600);
  return startTestSite(t, { records: RECORDS, ...more, settings: { visibility: 'own', serve_tokens: tokens } });
}

const findings = object({
  passes: integer(),
  violations: list(object({ id: string, impact: nullable(string), help: string }), 1000),
});

/** What axe finds that would keep some people from using the page. */
async function seriousFaults(page: Page): Promise<readonly string[]> {
  await page.addScriptTag({ path: require.resolve('axe-core/axe.min.js') });
  const found: unknown = await page.evaluate(
    'axe.run({ resultTypes: ["violations"] }).then(({ passes, violations }) => ({ passes: passes.length, violations: violations.map(({ id, impact, help, nodes }) => ({ id, impact, help: help + ": " + nodes.map(({ html }) => html).join().slice(0, 300) })) }))',
  );
  const read = check(findings, found, 'what axe found');
  assert.ok(read.ok);
  // axe has checked many rules, colour contrast among them.
  assert.ok(read.value.passes > 15, String(read.value.passes));
  return read.value.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help }) => `${id}: ${help}`);
}

describe('the pages in a browser', { skip }, () => {
  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'], timeout: 0 });
  });
  after(async () => browser?.close());

  it('are complete without scripts, and load nothing from elsewhere', async (t) => {
    const site = await sampleSite();
    const { page, origin, complaints, loaded } = await openReader(t, site, { javaScriptEnabled: false });
    for (const [name, path] of PATHS) {
      await page.goto(origin + path);
      assert.ok((await page.locator('h1').innerText()).length > 2, name);
      if (PICTURES !== undefined) {
        mkdirSync(PICTURES, { recursive: true });
        await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
      }
    }
    // The stylesheet is applied.
    assert.equal(await page.evaluate('document.styleSheets.length'), 1);
    await page.goto(`${origin}/job/4718`);
    assert.equal(await page.locator('main b, main img, main script').count(), 0);
    assert.match(await page.locator('h1').innerText(), /^Job 4718 <&"> \\x1b\[31mred/);
    assert.deepEqual(complaints, []);
    assert.deepEqual(
      loaded.filter((url) => !url.startsWith(`${origin}/`)),
      [],
    );
    assert.deepEqual(site.lines, []);
  });

  it('are connected by links and forms that work without scripts', async (t) => {
    const site = await sampleSite();
    const { page, origin } = await openReader(t, site, { javaScriptEnabled: false });
    await page.goto(`${origin}/jobs?${NOVEMBER}`);
    await page.getByLabel('user', { exact: true }).fill('bob');
    await page.getByLabel('ended').selectOption('true');
    await page.locator('.filters button').click();
    await page.waitForURL(({ searchParams }) => searchParams.get('owner') === 'bob');
    await page.getByRole('link', { name: '4712' }).click();
    await page.waitForURL(({ pathname }) => pathname === '/job/4712');
    await page.getByLabel('Job number').fill('4720.7');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin}/job/4720.7`);
    // The first Tab reaches the link to the content.
    await page.keyboard.press('Tab');
    assert.equal(await page.locator(':focus').innerText(), 'Skip to the content');
  });

  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 400],
  ] as const)
    it(`are accessible, ${colorScheme} and ${width} px wide`, async (t) => {
      const site = await sampleSite();
      const viewport = { width, height: 900 };
      const { page, origin } = await openReader(t, site, { bypassCSP: true, colorScheme, viewport });
      for (const [name, path] of PATHS) {
        await page.goto(origin + path);
        assert.deepEqual(await seriousFaults(page), [], name);
        const wide = await page.evaluate('document.documentElement.scrollWidth');
        assert.ok(Number(wide) <= width, `${name} is ${String(wide)} px wide`);
      }
    });

  it(
    'have pictures in the manual',
    { skip: PICTURES === undefined && 'QMEMACCT_SCREENSHOTS is not set' },
    async (t) => {
      const week = siteWeek(1, 3000, NOW - WEEK_MS).runs.flatMap(({ record }) =>
        record === null ? [] : { ...record, cluster: ordinary.cluster, job_id: 10_000 + record.job_id },
      );
      const kinds = groupBy(
        week.filter(({ owner }) => owner === 'user000'),
        ({ job_name: name }) => nameClass(name ?? ''),
      );
      const [kind] = [...kinds].sort(([, a], [, b]) => b.length - a.length)[0] ?? [''];
      const site = await startTestSite(t, {
        records: [...RECORDS, ...week],
        live: liveStateOf(busySnapshots(120, 600)(NOW)),
      });
      const viewport = { width: PICTURE_WIDTH, height: 900 };
      const { page, origin } = await openReader(t, site, { javaScriptEnabled: false, colorScheme: 'light', viewport });
      const session = await page.context().newCDPSession(page);
      mkdirSync(PICTURES ?? '', { recursive: true });
      for (const [name, path, height] of SHOWN) {
        await page.goto(origin + path.replace('KIND', encodeURIComponent(kind)));
        const clip = { x: 0, y: 0, width: PICTURE_WIDTH, height, scale: 1 };
        const { data } = await session.send('Page.captureScreenshot', {
          format: 'webp',
          quality: 50,
          clip,
          captureBeyondViewport: true,
        });
        const picture = Buffer.from(data, 'base64');
        assert.ok(picture.length < MOST_PICTURE_BYTES, `${name}: ${picture.length} bytes`);
        writeFileSync(join(PICTURES ?? '', `${name}.webp`), picture);
      }
    },
  );

  it('have charts that can be read and zoomed by mouse and by keyboard', async (t) => {
    const site = await sampleSite();
    const { page, origin, complaints } = await openReader(t, site);
    await page.goto(`${origin}/job/4711`);
    const chart = page.locator('svg[data-seconds]');
    const reading = page.locator('.reading output');
    const slider = page.getByLabel('Time at which the chart is read');
    const { x, y, width } = (await chart.boundingBox()) ?? { x: 0, y: 0, width: 0 };
    await page.mouse.move(x + width / 2, y + 100);
    const [, gib = ''] = /^[\d:hm s]+: ([\d.]+) GiB$/.exec(await reading.innerText()) ?? [];
    const middle = ordinary.series?.rss_bytes[120] ?? 0;
    assert.ok(Math.abs(Number(gib) - middle / GIB) < 0.02, await reading.innerText());
    assert.equal(await slider.inputValue(), '500');
    await page.mouse.down();
    await page.mouse.move(x + width * 0.75, y + 100);
    await page.mouse.up();
    await page.locator('svg[data-zoomed]').waitFor();
    assert.match((await chart.locator('svg').getAttribute('viewBox')) ?? '', /^500(?:\.\d+)? 0 250(?:\.\d+)? 240$/);
    assert.doesNotMatch(await chart.locator('.times').innerHTML(), />0</);
    await page.getByRole('button', { name: 'Zoom out' }).click();
    await page.getByRole('button', { name: 'Zoom out' }).click();
    assert.equal(await chart.getAttribute('data-zoomed'), null);
    await slider.focus();
    await page.keyboard.press('Home');
    assert.match(await reading.innerText(), /^start: \d+ MiB$/);
    await page.getByRole('button', { name: 'Zoom in' }).press('Enter');
    assert.equal(await chart.locator('svg').getAttribute('viewBox'), '0 0 500 240');
    assert.deepEqual(complaints, []);
  });

  it('refresh themselves until they are paused', async (t) => {
    const live = liveStateOf(sampleSnapshot());
    const site = await startTestSite(t, { records: RECORDS, live });
    const { page, origin, complaints } = await openReader(t, site);
    await page.clock.install();
    await page.goto(`${origin}/`);
    await page.getByText(/^Refreshed every 30 s/).waitFor();
    assert.equal(await page.getByText('Reload now').count(), 0);
    const heading = page.getByRole('heading', { name: /running jobs/ });
    assert.match(await heading.innerText(), /^12 running jobs/);
    live.put(workedExample());
    await page.clock.runFor(31_000);
    await page.getByRole('heading', { name: /^[1-9] running jobs/ }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    live.put(sampleSnapshot());
    await page.clock.runFor(31_000);
    await page.getByText(/^Paused at/).waitFor();
    assert.match(await heading.innerText(), /^[1-9] running jobs/);
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.clock.runFor(31_000);
    await page.getByRole('heading', { name: /^12 running jobs/ }).waitFor();
    await site.stop();
    await page.clock.runFor(31_000);
    await page.getByText(/^Not refreshed since/).waitFor();
    assert.deepEqual(complaints, []);
  });

  it('say that nobody is signed in any more when they refresh themselves', async (t) => {
    const site = await privateSite(t);
    const { page, origin } = await openReader(t, site);
    await page.clock.install();
    for (const end of ['sign out elsewhere', 'forget the session'] as const) {
      await page.goto(`${origin}/sign-in`);
      await page.getByLabel('Token').fill(TOKEN);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('Signed in: a token').waitFor();
      const [cookie] = await page.context().cookies();
      assert.ok(cookie !== undefined);
      const signOut = { headers: { Origin: origin, Cookie: `${cookie.name}=${cookie.value}` }, maxRedirects: 0 };
      await page.context().request.post(`${origin}/sign-out`, signOut);
      if (end === 'forget the session') await page.context().addCookies([cookie]);
      await page.clock.runFor(31_000);
      await page.getByRole('link', { name: 'Sign in' }).waitFor();
    }
  });

  it("show a user's jobs from signing in with a token until signing out", async (t) => {
    const site = await privateSite(t);
    const { page, origin, complaints } = await openReader(t, site, { javaScriptEnabled: false });
    assert.equal((await page.goto(`${origin}/job/4711`))?.status(), 404);
    await page.goto(`${origin}/sign-in`);
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Signed in: a token').waitFor();
    const [cookie] = await page.context().cookies();
    assert.equal(cookie?.httpOnly, true);
    assert.equal(cookie.sameSite, 'Strict');
    assert.equal((await page.goto(`${origin}/job/4711`))?.status(), 200);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    assert.equal((await page.goto(`${origin}/job/4711`))?.status(), 404);
    // A cookie that was valid, and one that never was.
    for (const value of [cookie.value, 'forged']) {
      // In a browser context of its own, so that no earlier response removes the cookie.
      const { page: other } = await openReader(t, site, { javaScriptEnabled: false });
      await other.context().addCookies([{ name: cookie.name, value, url: origin }]);
      assert.equal((await other.goto(`${origin}/job/4711`))?.status(), 401);
      assert.match(await other.locator('main').innerText(), /you are no longer signed in/);
      assert.deepEqual(await other.context().cookies(), []);
    }
    assert.deepEqual(complaints, []);
  });

  it("are opened by the link of `qmemacct web` as its user, who sees nobody else's jobs", async (t) => {
    const names = { user: () => Promise.resolve({ name: 'alice', gids: [] }), group: () => Promise.resolve(null) };
    const site = await privateSite(t, { names, records: [ordinary, { ...killedAtLimit, owner: 'alice' }] });
    const { page, origin } = await openReader(t, site, { javaScriptEnabled: false });
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [COMMAND, 'web', '--socket', site.socket],
      process.geteuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {},
    );
    await page.goto(stdout.split('\n')[0] ?? '');
    await page.getByRole('button', { name: 'Sign in as alice' }).click();
    await page.getByText('Signed in: alice').waitFor();
    assert.equal((await page.goto(`${origin}/job/4712`))?.status(), 200);
    assert.equal((await page.goto(`${origin}/job/4711`))?.status(), 404);
    await page.goto(`${origin}/jobs?${NOVEMBER}`);
    assert.doesNotMatch(await page.locator('main').innerText(), /bob|4711/);
  });
});
