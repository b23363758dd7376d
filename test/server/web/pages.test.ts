import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jobTaskName } from '../../../src/record/job-name';
import type { JobRecord } from '../../../src/record/record';
import { answer, HOSTILE_NAME, sampleSnapshot, waiting } from '../../live/snapshots';
import {
  arrayOfTwenty,
  hostile,
  killedAtLimit,
  mpiMaster,
  mpiTask,
  openBracket,
  ordinary,
  running,
  unsampled,
} from '../../report/sample-records';
import { linkTo } from '../../../src/server/web/html';
import { writeReport } from '../../../src/cli/nightly/report-files';
import { statusOf } from '../../accounting/suite/node-suite';
import { memoryAccounting } from '../accounting/memory-accounting';
import { NOW, sharedSite, startTestSite, type Got } from '../test-site';
import { accountOf } from '../../support/records';
import { temporaryDirectory } from '../../support/temporary-directory';

const NOVEMBER = 'since=2026-11-01&until=2026-12-01';
/** Stores refuse a complex whose name is invalid. */
const hostileRecord: JobRecord = { ...hostile, requests: {} };
const RECORDS = [
  ordinary,
  killedAtLimit,
  running,
  hostileRecord,
  ...arrayOfTwenty,
  mpiMaster(4),
  mpiTask(1),
  mpiTask(2),
];

/** Two jobs without samples, an hour each, on two days; they held 2 GiB and 1 GiB of 8. */
const COUNTED = [2, 1].map((held, index): JobRecord => ({
  ...unsampled,
  ...{ job_id: 9000 + index, run_id: `accounting.${index}`, pe: null, slots: 1, host_slots: null, trust: 'accounting' },
  ...{ wallclock_seconds: 3600, cpu_seconds: 1800, peak_rss: null, requests: {} },
  ended_at: `2026-11-0${3 - index}T12:00:00.000Z`,
  h_vmem: { request_bytes: 8 * 1024 ** 3, limit_bytes: 8 * 1024 ** 3, per: 'slot' },
  grid_engine: accountOf({ maxvmem_bytes: held * 1024 ** 3, wallclock_seconds: 3600 }),
}));

/** The text that a reader of the page sees. */
function textOf({ text }: Got): string {
  const main = text.slice(text.indexOf('<main'), text.indexOf('</main>'));
  const plain = main.replace(/<[^<>]*>/g, ' ').replace(/\s+/g, ' ');
  return plain.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'");
}

const DAY_MS = 86_400_000;

/** The run that ended so many days ago; `peak` in GiB. */
function runOf(daysAgo: number, peak: number, changes: Partial<JobRecord> = {}): JobRecord {
  const ended = Date.now() - daysAgo * DAY_MS;
  const bytes = Math.round(peak * 1024 ** 3);
  const time = (ms: number): string => new Date(ms).toISOString();
  return {
    ...ordinary,
    ...{ job_id: 6000 + daysAgo, job_name: `step_${daysAgo}`, pe: null, slots: 1, host_slots: 1, requests: {} },
    h_vmem: { request_bytes: 16 * 1024 ** 3, limit_bytes: 16 * 1024 ** 3, per: 'slot' },
    ...{ submitted_at: time(ended - 7_200_000), started_at: time(ended - 3_600_000), ended_at: time(ended) },
    ...{ peak_rss: openBracket(bytes, null, 'x'), peak_rss_swap: openBracket(bytes, null, 'x') },
    ...{ peak_process_vmem: openBracket(bytes, null, 'x'), peak_vmem: openBracket(bytes, null, 'x') },
    series: {
      start: time(ended - 3_600_000),
      step_seconds: 60,
      rss_bytes: [bytes >> 1, bytes, bytes >> 2],
      others: {},
    },
    ...changes,
  };
}

const STEPS = Array.from({ length: 12 }, (_, index) => runOf(12 - index, 1 + index / 20));

const sampleSite = sharedSite({ records: RECORDS });
const emptySite = sharedSite({ records: [], snapshot: sampleSnapshot() });
const ownSite = sharedSite({ records: [...STEPS, ...RECORDS], settings: { visibility: 'own' } });
const stepsSite = sharedSite({ records: [...STEPS, ...RECORDS], now: Date.now });

const PATHS: readonly string[] = [
  ...[
    '/',
    '/?shade=slots&owner=alice',
    '/jobs',
    `/jobs?${NOVEMBER}`,
    '/cluster?since=2026-11-01',
    '/nodes',
    '/v1',
    '/sign-in',
  ],
  ...RECORDS.map((record) => `/job/${jobTaskName(record)}`),
  ...['/job/4720', '/nothing', '/job/1', '/job/x', '/class', '/class?owner=nobody&job_name=none'],
  ...['/compare', '/compare?jobs=4711,4712,4718,4720,99', '/class?owner=bob&job_name=align_reads&slots=4'],
  linkTo('/class', { owner: hostile.owner, job_name: hostile.job_name }),
];

describe('every page', () => {
  it('is complete, runs no inline script, and loads nothing from elsewhere', async (t) => {
    const site = await startTestSite(t, { records: RECORDS, snapshot: sampleSnapshot() });
    for (const path of new Set(PATHS)) {
      const page = await site.get(path, { Accept: 'text/html' });
      assert.equal(page.headers['content-type'], 'text/html; charset=utf-8', path);
      const policy = String(page.headers['content-security-policy']);
      assert.match(
        policy,
        /^default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'/,
      );
      assert.doesNotMatch(policy, /unsafe|\*|https?:/);
      const written = page.text.replace('<script src="/script.js" defer></script>', '');
      assert.doesNotMatch(written, /<script|<style|\sstyle=|\son\w+=|<iframe|<b>"x"|undefined|NaN|\[object/, path);
      assert.doesNotMatch(page.text, /(?:href|src|action)="(?!\/(?!\/)|#)/, path);
      // eslint-disable-next-line no-control-regex -- exactly these must not be there
      assert.doesNotMatch(page.text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/, path);
      const tags = [...page.text.matchAll(/<(\/?)(table|section|svg|ul|dl|div|form|main)\b/g)];
      const open = tags.reduce((depth, [, closing]) => depth + (closing === '' ? 1 : -1), 0);
      assert.equal(open, 0, path);
    }
    assert.deepEqual(site.lines, []);
  });

  it('names the content types of answers other than JSON', async () => {
    const site = await emptySite();
    const text = textOf(await site.get('/v1'));
    assert.match(text, /\/qstat\.xml \(application\/xml\) .* \/v1\/live the jobs/);
  });

  it('shows a problem to people as a page, and to programs as a document', async () => {
    const site = await emptySite();
    const page = await site.get('/job/1', { Accept: 'text/html,*/*' });
    assert.equal(page.status, 404);
    assert.match(textOf(page), /no such job is known here/);
    const document = await site.get('/job/1', { Accept: '*/*' });
    assert.equal(document.headers['content-type'], 'application/problem+json');
  });
});

describe('the page of a job', () => {
  it('shows what was requested and used, how the job ended, and what to request', async () => {
    const site = await sampleSite();
    const good = textOf(await site.get('/job/4711'));
    assert.match(good, /Job 4711 align_reads finished, exit status 0 · bob · all\.q@node07 · 4 slots \(smp\)/);
    assert.match(good, /Memory 16 GiB ≥ 1\.53 GiB 9\.6 %/);
    assert.match(good, /It requested more memory than it needs\. qsub -l h_vmem=650M/);
    assert.match(good, /limit 16 GiB, farther up/);
    assert.match(good, /measured by root's sampler: 5,029 samples/);
    const killed = textOf(await site.get('/job/4712'));
    assert.match(killed, /killed by SIGKILL/);
    assert.match(killed, /Possible cause: Grid Engine's own kill at h_vmem/);
    assert.match(killed, /qsub -l h_vmem=6G/);
  });

  it('charts any series of the record, chosen by the address', async (t) => {
    const hostile = {
      ...killedAtLimit,
      series: ordinary.series && { ...ordinary.series, others: { constructor: [1, 5] } },
    };
    const site = await startTestSite(t, { records: [ordinary, hostile, mpiMaster(4), mpiTask(1)] });
    const memory = await site.get('/job/4711?all=true');
    assert.match(memory.text, /<strong aria-current="true">Memory<\/strong>/);
    const links = [...memory.text.matchAll(/<a href="([^"]*series=[^"]*)">([^<]*)</g)].map(([, link = '', text]) => [
      text,
      link.replaceAll('&amp;', '&'),
    ]);
    assert.deepEqual(links, [
      ['CPU', '/job/4711?all=true&series=cpu_cores'],
      ['Read', '/job/4711?all=true&series=read_bytes_per_second'],
      ['Written', '/job/4711?all=true&series=written_bytes_per_second'],
    ]);
    assert.match((await site.get('/job/4711?all')).text, /href="\/job\/4711\?all=&amp;series=cpu_cores"/);
    const cpu = await site.get('/job/4711?series=cpu_cores');
    assert.match(textOf(cpu), /CPU over time Memory CPU Read Written .*4 cores .*4 slots/);
    assert.match(cpu.text, /aria-label="CPU over 1h 24m: highest 3\.80 cores, 4 slots"/);
    // A series that the record lacks is not charted, whatever its name.
    for (const name of ['swap_bytes', 'constructor', '<b>'])
      assert.match(textOf(await site.get(`/job/4711?series=${encodeURIComponent(name)}`)), /Memory over time/);
    assert.match(textOf(await site.get('/job/4712?series=constructor')), /constructor over time/);
    const compared = await site.get('/compare?jobs=4711,4712&series=constructor');
    assert.equal([...compared.text.matchAll(/<path\s+class="curve line-\d"/g)].length, 1);
    assert.match(compared.text, /href="\/compare\?jobs=4711%2C4712&amp;series=cpu_cores">CPU</);
  });

  it('shows the hosts of a parallel job, and the tasks of an array job', async () => {
    const site = await sampleSite();
    assert.match(textOf(await site.get('/job/4800')), /Hosts .* node01 \(master\)/);
    const array = await site.get('/job/4720');
    assert.match(textOf(array), /20 tasks .*Tasks closest to their limit .* 7 node08 2 GiB ≥ 1\.97 GiB 99 %/);
    assert.match(array.text, /<a href="\/job\/4720\.7">7<\/a>/);
    // With `all` the page is made from the records, and is the same.
    assert.equal(textOf(await site.get('/job/4720?all=true')), textOf(array));
  });

  it('advises for an array by its largest task, whether made from columns or records', async (t) => {
    const mebibytes = (task: JobRecord, mib: number): JobRecord => {
      const peak = { ...(task.peak_rss ?? assert.fail()), lower_bytes: mib * 2 ** 20, upper_bytes: mib * 2 ** 20 };
      return { ...task, peak_rss: peak, peak_rss_swap: peak, peak_process_vmem: peak, exit_status: 0, signal: 0 };
    };
    const tasks = arrayOfTwenty.map((task) => mebibytes(task, task.task_id === 9 ? 1500 : 100));
    const site = await startTestSite(t, { records: tasks });
    for (const path of ['/job/4720', '/job/4720?all=true'])
      assert.match(textOf(await site.get(path)), /Next time The request fits\./, path);
  });

  it('shows an array of more tasks than one answer can hold', async (t) => {
    const [task] = arrayOfTwenty;
    const tasks = Array.from({ length: 10_001 }, (_, index): JobRecord[] =>
      task === undefined ? [] : [{ ...task, task_id: index + 1, run_id: `1f2e3d4c.${index}.1` }],
    ).flat();
    const failed = tasks.map((one) => ((one.task_id ?? 0) % 5 === 0 ? { ...one, exit_status: 1, failed: 0 } : one));
    const site = await startTestSite(t, { records: failed });
    assert.equal((await site.get('/v1/job/4720')).status, 413);
    const text = textOf(await site.get('/job/4720'));
    assert.match(text, /10,001 tasks .* Memory of 50 of the tasks, .* And 9,951 more tasks/);
    assert.match(text, /ok 8,001 exit 1 2,000 Task 5 and 999 like it .*exit status 1.*; 1,000 more did\./);
  });

  it('charts each of a few hosts of a parallel job, and many hosts together', async (t) => {
    const few = await sampleSite();
    const page = await few.get('/job/4800');
    assert.doesNotMatch(page.text, /Peaks of the hosts/);
    const [, link = ''] = /<a href="([^"]*host=[^"]*)"><bdi>node02<\/bdi>/.exec(page.text) ?? [];
    assert.equal(link, '/job/4800?host=node02');
    assert.match(textOf(await few.get(link)), /Memory over time on node02 All hosts together .* limit \d+ GiB/);
    assert.match(textOf(await few.get('/job/4800?host=elsewhere')), /Memory over time (?!on)/);
    const tasks = Array.from({ length: 5 }, (_, index) => ({
      ...mpiTask(1),
      ...{ host: `node${20 + index}`, pe_task_id: `1.node${20 + index}`, run_id: `1f2e3d4c.${index}.1` },
    }));
    const many = await startTestSite(t, { records: [mpiMaster(4), ...tasks] });
    const text = textOf(await many.get('/job/4800'));
    assert.match(
      text,
      /Peaks of the hosts, lowest first .* Memory of the hosts, each since its start .* middle 80 % of the hosts/,
    );
  });

  it('is found by the field at the top, and reloads itself only when asked to', async () => {
    const site = await sampleSite();
    const found = await site.get('/job?job=%204720.7%20');
    assert.deepEqual([found.status, found.headers.location], [303, '/job/4720.7']);
    assert.equal((await site.get('/job?job=', { Accept: 'text/html' })).status, 400);
    assert.equal((await site.get('/job/4715')).headers.refresh, undefined);
    assert.equal((await site.get('/job/4715?reload=true')).headers.refresh, '30');
  });

  it("shows Grid Engine's data of a job without records", async () => {
    const site = await emptySite();
    assert.match(textOf(await site.get('/job/107')), /Now, from Grid Engine .* limit 512 MiB/);
  });

  it("shows Grid Engine's data while the accounting DB is away", async (t) => {
    const site = await startTestSite(t, {
      settings: { accounting: '/nowhere/accounting.db' },
      snapshot: sampleSnapshot(),
    });
    const page = await site.get('/job/107');
    assert.equal(page.status, 200);
    assert.match(textOf(page), /the accounting DB: it does not exist; .* Now, from Grid Engine .* limit 512 MiB/);
    assert.equal((await site.get('/job/99')).status, 503);
    assert.equal((await site.get('/job/107?at=2026-11-01')).status, 503);
  });

  it('shows a waiting job to those who may see it', async (t) => {
    const waits = waiting(200, { name: 'next', state: 'hqw', tasks: '1-3:1' });
    const state = sampleSnapshot();
    let asked = 0;
    const options = {
      records: [],
      snapshot: { ...state, pending: answer([waits], { at: NOW - 4000 }) },
      wantPending: () => {
        asked++;
        return Promise.resolve();
      },
    };
    const site = await startTestSite(t, options);
    const text = textOf(await site.get('/job/200'));
    assert.match(text, /Job 200 Waiting, by Grid Engine .*, 4 s old job 200\.1-3:1 owner alice name next/);
    assert.match(text, /This job is waiting: reload/);
    assert.deepEqual([(await site.get('/job/200.3')).status, (await site.get('/job/200.4')).status], [200, 404]);
    assert.equal(asked, 3);
    const strict = await startTestSite(t, { ...options, settings: { visibility: 'own' } });
    assert.equal((await strict.get('/job/200')).status, 404);
  });

  it('shows a waiting job beside one of months ago that had its number', async (t) => {
    const snapshot = { ...sampleSnapshot(), pending: answer([waiting(200, { name: 'next' })], { at: NOW }) };
    const site = async (daysAgo: number): Promise<string> => {
      const ended_at = new Date(NOW - daysAgo * DAY_MS).toISOString();
      const records = [{ ...ordinary, job_id: 200, ended_at }];
      return textOf(await (await startTestSite(t, { records, snapshot })).get('/job/200'));
    };
    assert.match(await site(90), /align_reads .* Waiting, by Grid Engine .* name next/);
    assert.doesNotMatch(await site(1), /Waiting, by/);
  });

  it('shows the job of one cluster where another cluster has the same number', async (t) => {
    const theirs = { ...ordinary, job_id: 107, cluster: 'other', ended_at: '2026-11-29T00:00:00.000Z' };
    const site = await startTestSite(t, { records: [theirs], snapshot: sampleSnapshot() });
    assert.doesNotMatch(textOf(await site.get('/job/107')), /align_reads/);
    const other = textOf(await site.get('/job/107?cluster=other'));
    assert.match(other, /align_reads/);
    assert.doesNotMatch(other, /from Grid Engine/);
  });
});

describe('the page of jobs', () => {
  it('sums the chosen jobs, and links to them', async () => {
    const site = await sampleSite();
    const all = await site.get(`/jobs?${NOVEMBER}`);
    assert.match(all.text, /<a href="\/jobs\?since=2026-11-01&amp;until=2026-12-01&amp;owner=bob"/);
    // Links keep the period, and headers sort by the figures of their columns.
    assert.doesNotMatch(all.text, /"\/jobs\?owner=|>(?:limit|CPU)<\/a>/);
    const own = textOf(await site.get(`/jobs?owner=bob&job_name=&failed=true&states=&${NOVEMBER}`));
    assert.match(own, /Jobs of bob .* jobs and array tasks 2 \(2 records\)/);
    const week = await site.get('/jobs?since=700d&until=1d&failed=1&page=2');
    assert.match(week.text, /<input name="since" value="700d" \/>.*<input name="until" value="1d" \/>/s);
    assert.match(week.text, /<option value="true" selected>badly/);
    assert.match(own, /4712 assemble/);
    assert.doesNotMatch(own, /4711/);
    // A link selects a class of jobs by its pattern, whatever its name is.
    const [, link = ''] = /<a href="([^"]*job_name=%3C[^"]*)"/.exec(all.text) ?? [];
    assert.match(textOf(await site.get(link.replaceAll('&amp;', '&'))), /jobs and array tasks 1 \(1 record\)/);
  });

  it("shows Grid Engine's figures with ~ instead of 0 where nothing was sampled", async (t) => {
    const site = await startTestSite(t, { records: COUNTED });
    const page = await site.get(`/jobs?sort=unused&${NOVEMBER}`);
    assert.match(page.text, /Memory-hours by day, 2026-11-02 to 2026-11-03, at most 8\.00 GiB·h/);
    const text = textOf(page);
    assert.match(text, /memory in use 16\.0 GiB·h requested, use unknown unused ~13\.0 GiB·h/);
    assert.match(text, /on this page; unused: GiB·h .* 9001 .* ~7\.00 ok 9000 .* ~6\.00 ok/);
  });

  it('says from which day on records are kept', async (t) => {
    const site = await startTestSite(t, { records: [], settings: { keep_records_days: 30 } });
    const text = async (since: string): Promise<string> => textOf(await site.get(`/jobs?since=${since}`));
    assert.match(
      await text('40d'),
      /Jobs from before \d{4}-\d\d-\d\d UTC are not listed: their records are kept 30 days/,
    );
    assert.doesNotMatch(await text('20d'), /are not listed/);
  });

  it('links to the listed job even if a later job has its number', async (t) => {
    const before = { ...ordinary, owner: 'alice', run_id: '0badcafe.1.1', revision: 1 };
    const times = ['submitted_at', 'started_at', 'ended_at'] as const;
    const yearBefore = times.map((name) => [name, ordinary[name]?.replace('2026-11', '2026-02')] as const);
    const old: JobRecord = { ...before, ...Object.fromEntries(yearBefore) };
    const site = await startTestSite(t, { records: [old, ordinary] });
    for (const path of ['/jobs?owner=alice&since=2026-02-01', '/class?owner=alice&job_name=align_reads']) {
      const [, link = ''] = /href="(\/job\/[^"]*)"/.exec((await site.get(path)).text) ?? [];
      assert.match(textOf(await site.get(link.replaceAll('&amp;', '&'))), /align_reads .* alice /, path);
    }
  });

  it('reads thousands of records for sums that are not stored only on request', async (t) => {
    const many = Array.from({ length: 5001 }, (_, index) => ({
      ...ordinary,
      job_id: 5000 + index,
      ended_at: `2026-11-${10 + (index % 2)}T12:00:00.000Z`,
    }));
    const site = await startTestSite(t, { records: many });
    const followed = (page: Got): Promise<Got> => {
      const [, link = ''] = /href="([^"]*)">Add up these jobs/.exec(page.text) ?? [];
      return site.get(link.replaceAll('&amp;', '&'));
    };
    const failed = await site.get(`/jobs?failed=false&${NOVEMBER}`);
    assert.match(textOf(failed), /user and by kind: up to 5,001 records to read Jobs One line for each job/);
    assert.doesNotMatch(textOf(failed), /Totals|Memory-hours by day|By user/);
    assert.match(
      textOf(await followed(failed)),
      /Totals .* 5,001 \(5,001 records\) .* Memory-hours by day.* By user, .* By kind of job/,
    );
    // Sums of a queue are stored, but not by user.
    const queue = textOf(await site.get(`/jobs?queue=${ordinary.queue}&${NOVEMBER}`));
    assert.match(queue, /Totals .* 5,001 \(5,001 records\) .* Memory-hours by day.* Add up these jobs/);
    assert.doesNotMatch(queue, /By user/);
    const ordered = await site.get(`/jobs?sort=peak&page=2&${NOVEMBER}`);
    assert.match(textOf(ordered), /Add up these jobs in all, by day, by user and by kind Jobs/);
    assert.match(textOf(await followed(ordered)), /Totals .* By user, .* By kind of job/);
    assert.doesNotMatch(textOf(await site.get(`/jobs?owner=nobody&failed=true&${NOVEMBER}`)), /Add up/);
  });

  it('lists jobs page by page, with the whole query in the address', async (t) => {
    const many = Array.from({ length: 120 }, (_, index) => ({ ...ordinary, job_id: 5000 + index }));
    const site = await startTestSite(t, { records: many });
    const jobsOf = ({ text }: Got): readonly string[] =>
      [...text.matchAll(/href="\/job\/(\d+)\?/g)].map(([, job = '']) => job);
    let path = `/jobs?sort=peak&${NOVEMBER}`;
    const found: string[] = [];
    for (const expected of [50, 50, 20]) {
      const page = await site.get(path);
      assert.equal(jobsOf(page).length, expected);
      found.push(...jobsOf(page));
      path = (/href="([^"]*)" rel="next"/.exec(page.text)?.[1] ?? '').replaceAll('&amp;', '&');
    }
    assert.equal(path, '');
    assert.equal(new Set(found).size, 120);
  });

  it("says that no job matches, and shows nobody another user's jobs", async () => {
    const site = await ownSite();
    assert.match(textOf(await site.get(`/jobs?${NOVEMBER}`)), /No job of this time matches/);
    assert.equal((await site.get(`/jobs?owner=bob&${NOVEMBER}`)).status, 403);
    assert.equal((await site.get('/job/4711')).status, 404);
    assert.doesNotMatch(textOf(await site.get('/cluster?since=2026-11-01')), /bob/);
  });
});

describe('the page of a class of jobs', () => {
  it('shows peaks and requests of its runs, the advice, and how the advice would have done', async (t) => {
    const site = await startTestSite(t, { records: [...STEPS, ...RECORDS] });
    const answer = (await site.get('/v1/class?owner=bob&job_name=step_5')).json() as {
      readonly request: string;
      readonly runs: readonly { readonly job_id: number; readonly needed_bytes: number }[];
      readonly replay: { readonly runs: number; readonly advisable: number };
      readonly course: { readonly runs: number; readonly median_bytes: readonly number[] };
    };
    assert.deepEqual(
      answer.runs.map(({ job_id: job }) => job),
      STEPS.map(({ job_id: job }) => job),
    );
    assert.equal(answer.runs[3]?.needed_bytes, Math.round(1.15 * 1024 ** 3));
    assert.deepEqual([answer.replay.runs, answer.replay.advisable, answer.course.runs], [12, 9, 12]);
    assert.equal(
      answer.course.median_bytes.reduce((a, b) => Math.max(a, b)),
      Math.round(1.3 * 1024 ** 3),
    );
    const page = await site.get('/class?owner=bob&job_name=step_5');
    const text = textOf(page);
    assert.match(text, /step_# of bob 12 runs of the last year/);
    assert.ok(text.includes(`qsub ${answer.request}`), text);
    assert.equal([...page.text.matchAll(/<circle\s/g)].length, 12);
    assert.match(page.text, /<path\s+class="asked"\s+d="M[\d.]+ 22(?:H[\d.]+V22)+"/);
    assert.match(text, /advised h_vmem=/);
    assert.match(text, /requested per slot peak per slot/);
    assert.match(text, /12 runs, 9 of them with 3 earlier runs or more .* users' requests 9 /);
    assert.match(page.text, /href="\/compare\?jobs=6012%2C6006%2C6001"/);
  });

  it('is linked from a job and from its user, with all filters in the address', async () => {
    const site = await stepsSite();
    const job = await site.get('/job/6003');
    const [, link = ''] = /href="(\/class[^"]*)"/.exec(job.text) ?? [];
    const query = new URL(link.replaceAll('&amp;', '&'), 'http://here').searchParams;
    assert.deepEqual(
      ['owner', 'job_name', 'slots', 'queue', 'cluster'].map((name) => query.get(name)),
      ['bob', 'step_#', '1', 'all.q', 'biology'],
    );
    assert.match(textOf(await site.get(link.replaceAll('&amp;', '&'))), /step_# of bob, 1 slot, queue all\.q 12 runs/);
    assert.match((await site.get('/jobs?owner=bob&since=30d')).text, /href="\/class\?owner=bob&amp;job_name=step_%23"/);
  });

  it('gives the same advice as the pages of its user and its project', async (t) => {
    const alicesRuns = STEPS.slice(0, 4).map((record) => ({
      ...record,
      ...{ job_id: record.job_id + 100, owner: 'alice', job_name: 'fit', project: 'genome' },
    }));
    const site = await startTestSite(t, {
      records: [...STEPS.map((record) => ({ ...record, project: 'genome' })), ...alicesRuns, ...RECORDS],
      now: Date.now,
    });
    const requestOf = async (owner: string, name: string): Promise<string> => {
      const answer = (await site.get(`/v1/class?owner=${owner}&job_name=${name}`)).json() as {
        readonly memory: { readonly complex: string; readonly request: string };
      };
      return `${answer.memory.complex}=${answer.memory.request}`;
    };
    const [step, fit] = [await requestOf('bob', 'step_5'), await requestOf('alice', 'fit')];
    const owner = textOf(await site.get('/jobs?owner=bob&since=30d'));
    assert.ok(new RegExp(`kind of job jobs .* request next risk step_# 12 .* ${step} [\\d.]+ %`).test(owner), owner);
    const project = textOf(await site.get('/jobs?project=genome&since=30d'));
    assert.ok(
      new RegExp(`kind of job user jobs .* step_# bob 12 .* ${step} .* fit alice 4 .* ${fit}`).test(project),
      project,
    );
    assert.doesNotMatch(textOf(await site.get('/jobs?since=30d')), /request next/);
  });

  it("needs a user and a name, and shows nobody another user's class", async () => {
    const site = await ownSite();
    assert.equal((await site.get('/class?owner=bob')).status, 400);
    assert.equal((await site.get('/class?owner=bob&job_name=step_1')).status, 403);
    assert.equal((await site.get('/v1/class?owner=bob&job_name=step_1')).status, 403);
  });
});

describe('the page that compares jobs', () => {
  it('has a curve and a column for each job, and names unknown jobs', async () => {
    const site = await sampleSite();
    const page = await site.get('/compare?jobs=4711,4720,99');
    assert.equal([...page.text.matchAll(/<path\s+class="curve line-\d"[^>]*\sd="M/g)].length, 2);
    assert.match(textOf(page), /No such job is known here: 99\. .* 4711 4720\.7 \(largest of 20 tasks\)/);
    assert.match(textOf(page), /peak of limit 9\.6 % 99 %/);
    assert.match(textOf(await site.get(`/compare?jobs=${running.job_id}`)), / ended (?:running|silent)/);
    assert.equal((await site.get('/compare?jobs=1,x')).status, 400);
    assert.equal((await site.get('/compare?jobs=1,2,3,4,5,6,7')).status, 400);
    assert.match((await site.get('/job/4711')).text, /href="\/compare\?jobs=4711&amp;cluster=biology"/);
  });

  it('shows the jobs of the chosen cluster', async (t) => {
    const onMars = { ...ordinary, cluster: 'mars', job_name: 'of_mars', run_id: 'mars.1', host: 'm1' };
    const site = await startTestSite(t, { records: [...RECORDS, onMars] });
    for (const [cluster, name] of [
      ['mars', 'of_mars'],
      ['biology', ordinary.job_name ?? ''],
    ] as const) {
      const page = await site.get(`/compare?jobs=4711&cluster=${cluster}`);
      assert.match(textOf(page), new RegExp(` name ${name} user bob `));
      assert.match(page.text, new RegExp(`href="/job/4711\\?cluster=${cluster}"`));
      assert.match(page.text, new RegExp(`href="/compare\\?jobs=4711&amp;cluster=${cluster}&amp;series=`));
    }
  });

  it("shows Grid Engine's figures as the page of the job does", async (t) => {
    const tasks = COUNTED.map((record, index) => ({ ...record, job_id: 9100, task_id: 2 - index }));
    const site = await startTestSite(t, { records: [...tasks, ...COUNTED] });
    const text = textOf(await site.get('/compare?jobs=9100,9001'));
    assert.match(text, /9100\.2 \(largest of 2 tasks\) 9001 .* limit 8 GiB 8 GiB peak ~2\.00 GiB ~1\.00 GiB/);
    assert.match(text, /CPU efficiency 50 % 50 %/);
  });

  it('shows the median of past runs where all jobs are of one class', async () => {
    const site = await stepsSite();
    const curves = async (jobs: string): Promise<readonly (string | undefined)[]> => {
      const { text } = await site.get(`/compare?jobs=${jobs}`);
      return [...text.matchAll(/<path\s+class="curve ([a-z\d-]+)"\s+data-name="([^"]*)"\s+d="M/g)].map(([, ...of]) =>
        of.join(': '),
      );
    };
    const typical = 'typical: the median of 12 runs of this kind';
    assert.deepEqual(await curves('6003'), ['line-0: 6003', typical]);
    assert.deepEqual(await curves('6003,6001'), ['line-0: 6003', 'line-1: 6001', typical]);
    assert.deepEqual(await curves('6003,4711'), ['line-0: 6003', 'line-1: 4711']);
  });

  it("does not show another user's jobs", async () => {
    const site = await ownSite();
    assert.match(textOf(await site.get('/compare?jobs=4711')), /No such job is known here: 4711/);
  });
});

describe('the page of the cluster', () => {
  it('links to the stored nightly reports, and shows them as they were mailed', async (t) => {
    const reports = temporaryDirectory();
    const html = '<p style="color:red">the night</p>';
    for (const day of ['2026-11-19', '2026-11-20']) writeReport(reports, day, 0o600, { html, json: '{"a":1}' });
    const site = await startTestSite(t, { records: RECORDS, settings: { report_dir: reports } });
    const days = [...(await site.get('/cluster')).text.matchAll(/href="\/reports\/([^"]*)"/g)].map(([, day]) => day);
    assert.deepEqual(days, ['2026-11-20', '2026-11-19']);
    assert.deepEqual((await site.get('/v1/reports')).json(), { schema: 1, days });
    assert.deepEqual((await site.get('/v1/reports/2026-11-20')).json(), { a: 1 });
    const report = await site.get('/reports/2026-11-20');
    assert.equal(report.text, html);
    assert.match(
      String(report.headers['content-security-policy']),
      /^sandbox; default-src 'none'; style-src 'unsafe-inline'/,
    );
    assert.equal((await site.get('/reports/2026-11-18')).status, 404);
    assert.equal((await site.get('/reports/..%2Fx')).status, 400);
  });

  it('shows no report to a user who does not see all jobs', async (t) => {
    const reports = temporaryDirectory();
    writeReport(reports, '2026-11-20', 0o600, { html: '<p>', json: '{}' });
    const settings = { report_dir: reports, visibility: 'own' } as const;
    const site = await startTestSite(t, { records: RECORDS, settings });
    assert.doesNotMatch((await site.get('/cluster')).text, /reports/);
    for (const path of ['/reports/2026-11-20', '/v1/reports/2026-11-20'])
      assert.equal((await site.get(path)).status, 403);
  });
});

describe('the page of the running cluster', () => {
  it('shows jobs at risk, jobs and hosts, and hostile names as text', async () => {
    const site = await emptySite();
    const page = await site.get('/');
    const text = textOf(page);
    assert.match(text, /At risk 107 : __proto__'s job 107 .* has reached its limit/);
    assert.ok(text.includes(HOSTILE_NAME.slice(0, HOSTILE_NAME.indexOf('\u001b'))), text);
    assert.match(text, /12 running jobs/);
    assert.match(text, /4 hosts/);
    assert.match(page.text, /<title>node03: down<\/title>/);
    // The bar of node01 is of what its column "used" says: the peaks so far, 6.50 GiB of 56 GiB.
    assert.match(page.text, /6\.50 GiB/);
    assert.match(page.text, /class="used" width="11\.61%"/);
    assert.match(textOf(await site.get('/?owner=alice')), /5 running jobs/);
    const chosen = await site.get('/?owner=alice,bob&project=&shade=slots&reload=1');
    assert.match(chosen.text, /<input name="owner" value="alice,bob" \/>/);
    assert.match(chosen.text, /<a href="\/\?owner=alice%2Cbob&amp;shade=slots">stop<\/a>/);
    assert.match(chosen.text, /<a href="\/\?owner=alice%2Cbob&amp;shade=used&amp;reload=1">/);
  });

  it('says that a page beyond the last one does not exist', async () => {
    const site = await emptySite();
    const text = textOf(await site.get('/?jobs=9&hosts=9'));
    assert.equal(text.split('The list has no page 9 any more.').length, 3);
    assert.doesNotMatch(text, /No running job matches/);
    assert.match(textOf(await site.get('/jobs?page=9')), /The list has no page 9 any more/);
  });

  it('shows a later caller the age at that time', async (t) => {
    let now = NOW;
    const site = await startTestSite(t, { records: [], snapshot: sampleSnapshot(), now: () => now });
    const ageOf = async (): Promise<string> => /[\d:]+, .* old/.exec(textOf(await site.get('/')))?.[0] ?? '';
    const first = await ageOf();
    now += 60_000;
    assert.notEqual(await ageOf(), first);
  });

  it('hides names where the site hides them', async (t) => {
    const settings = { serve_names: 'anonymous' } as const;
    const site = await startTestSite(t, { records: [], snapshot: sampleSnapshot(), settings });
    assert.doesNotMatch((await site.get('/')).text, /alice|__proto__/);
  });

  it('is shown while nothing is known of the cluster', async (t) => {
    const site = await startTestSite(t, { snapshot: null });
    const page = await site.get('/');
    assert.equal(page.status, 200);
    assert.match(textOf(page), /nothing is known of the cluster yet/);
  });
});

describe('the page of the hosts', () => {
  it("shows the last heartbeat of each host, the worst first, and Grid Engine's hosts without one", async (t) => {
    const heartbeat = { ...statusOf('node01'), heartbeat_at: new Date(NOW - 60_000).toISOString() };
    const source = { source: '<b>"x"', reason: 'broken' };
    const accounting = memoryAccounting(
      [],
      [
        { ...heartbeat, clock_offset_seconds: 0.01 },
        { ...heartbeat, host: 'node77', clock_offset_seconds: null, failing_sources: [source] },
      ],
    );
    const text = textOf(await (await startTestSite(t, { accounting, snapshot: sampleSnapshot() })).get('/nodes'));
    assert.match(text, /Hosts \d+ hosts: \d+ with a warning, 1 ok; 0 records wait; versions: 1\.2\.3 \(2\)/);
    assert.match(text, /node77 warning 0:01:00 ago .* a source fails: <b>"x" node01 ok 0:01:00 ago/);
    assert.match(text, /node02 warning no heartbeat in this time/);
    const none = await startTestSite(t, { accounting: memoryAccounting([]), snapshot: null });
    assert.match(textOf(await none.get('/nodes')), /No host has sent a heartbeat in the last 7 days/);
  });
});
