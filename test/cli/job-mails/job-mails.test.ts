import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { userInfo } from 'node:os';
import { describe, it, type TestContext } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import type { AccountingStore } from '../../../src/accounting/store';
import { AskedJobs } from '../../../src/cli/job-mails/asked-jobs';
import { factsOf, type ClusterFacts } from '../../../src/cli/job-mails/cluster-facts';
import { riskMail } from '../../../src/cli/job-mails/job-mail';
import { JobMails } from '../../../src/cli/job-mails/job-mails';
import { headerText } from '../../../src/cli/mail/message';
import { createMailer } from '../../../src/cli/mail/mailer';
import { writeChoice, type UserChoice } from '../../../src/cli/nightly/digest-choices';
import { openLedger, type Ledger } from '../../../src/cli/nightly/ledger';
import { viewCluster } from '../../../src/live/view';
import type { JobRecord } from '../../../src/record/record';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { USUAL_RULES } from '../../../src/record/request-rules';
import { AT, HOSTILE_NAME, workedExample } from '../../live/snapshots';
import { ordinary } from '../../report/sample-records';
import { temporaryDirectory } from '../../support/temporary-directory';
import { mailSink, type MailSink } from '../mail/mail-sink';
import { startServing } from '../../support/qmemacct';
import { until } from '../../support/until';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const at = (minutes: number): string => new Date(NOW + minutes * MINUTE).toISOString();

/** A job of bob that ended five minutes ago and is accounted for. */
function ended(changes: Partial<JobRecord> = {}): JobRecord {
  const job = changes.job_id ?? 4711;
  return {
    ...ordinary,
    trust: 'accounting',
    cluster: 'main',
    job_id: job,
    run_id: `badcafe.${job}.${changes.task_id ?? 0}`,
    owner: 'bob',
    job_name: 'sim',
    submitted_at: at(-60),
    started_at: at(-50),
    ended_at: at(-5),
    failed: 0,
    exit_status: 0,
    series: null,
    ...changes,
  };
}

const EACH_JOB: UserChoice = { choice: 'on', also: ['each-job'], since: NOW - 10 * HOUR };
const AT_RISK: UserChoice = { choice: 'on', also: ['at-risk'], since: 0 };

interface Site {
  readonly sink: MailSink;
  readonly store: AccountingStore;
  readonly logged: readonly string[];
  /** The mails of a process that starts now; `clock`: its time (ms). */
  readonly begin: (choices: Readonly<Record<string, UserChoice>>, clock?: () => number) => JobMails;
  readonly subjects: () => readonly string[];
  /** How often a mail was looked up in the ledger. */
  readonly looks: () => number;
}

async function site(t: TestContext, records: readonly JobRecord[]): Promise<Site> {
  const directory = temporaryDirectory();
  const sink = await mailSink(t);
  const store = openSqliteStore(join(directory, 'accounting.db'), 0o600);
  t.after(() => store.close());
  await store.merge(records);
  const logged: string[] = [];
  const log = (line: string): void => void logged.push(line);
  const settings = { ...DEFAULT_SETTINGS, mail_server: `smtp://127.0.0.1:${sink.port}?tls=off`, mail_domain: 'x.org' };
  let ledger: Ledger | null = null;
  let looks = 0;
  t.after(() => ledger?.close());
  const begin: Site['begin'] = (choices, clock = () => NOW) => {
    ledger?.close();
    const opened = openLedger(join(directory, 'job-mails'), 'test', log);
    ledger = {
      ...opened,
      stateOf: (day, mail) => {
        looks++;
        return opened.stateOf(day, mail);
      },
    };
    return new JobMails({
      settings,
      host: 'login1',
      reader: store,
      ledger,
      asked: new AskedJobs(join(directory, 'job-mails', 'asked.json'), log),
      mailer: () => createMailer(settings, 'login1'),
      choices: () => Promise.resolve(new Map(Object.entries(choices))),
      now: () => new Date(clock()),
      log,
    });
  };
  return {
    sink,
    store,
    logged,
    begin,
    subjects: () => sink.mails.map(({ headers }) => headers.get('subject') ?? ''),
    looks: () => looks,
  };
}

function listing(jobs: readonly number[], changes: Partial<ClusterFacts> = {}): ClusterFacts {
  return { cluster: 'main', at: NOW, listed: new Set(jobs), withPending: true, risks: [], asked: [], ...changes };
}

describe('mails on jobs that have ended', () => {
  it('go once to each owner who wants them, whichever process sends them', async (t) => {
    const jobs = [ended(), ended({ job_id: 4712, owner: 'alice' }), ended({ job_id: 4713, ended_at: at(-11 * 60) })];
    const { begin, sink, subjects, logged } = await site(t, jobs);
    const mails = begin({ bob: EACH_JOB });
    assert.deepEqual(await mails.round(null), { sent: 1, wantsPending: false });
    assert.deepEqual(subjects(), ['Job 4711 (sim): exit status 0']);
    assert.deepEqual(sink.mails[0]?.envelopeTo, ['bob@x.org']);
    assert.match(sink.mails[0].text, /4711 .*sim[\s\S]*"qmemacct digest off" on login1 stops it/);
    assert.equal((await mails.round(null)).sent, 0);
    assert.equal((await begin({ bob: EACH_JOB }).round(null)).sent, 0);
    assert.equal((await begin({ bob: EACH_JOB }, () => NOW + 20 * HOUR).round(null)).sent, 0);
    assert.deepEqual(logged, []);
  });

  it('say in the subject how the job ended, however long its name is', async (t) => {
    const { begin, subjects } = await site(t, [ended({ job_name: 'x'.repeat(300) })]);
    await begin({ bob: EACH_JOB }).round(null);
    assert.match(subjects().join(), /^Job 4711 \(x+…\): exit status 0$/);
    const fact = { job: 7, name: 'x'.repeat(300), owner: 'bob', reason: 'full', line: '' } as const;
    const { subject } = riskMail(fact, 'login1');
    assert.match(headerText(subject), / may run out of memory$/);
  });

  it("wait for Grid Engine's line, and while the job is listed", async (t) => {
    const { begin, store, subjects } = await site(t, [ended({ trust: 'root', failed: null, ended_at: at(-0.5) })]);
    let now = NOW;
    const mails = begin({ bob: EACH_JOB }, () => now);
    assert.equal((await mails.round(listing([]))).sent, 0);
    await store.merge([ended({ job_id: 4712 })]);
    assert.equal((await mails.round(listing([4712]))).sent, 0);
    assert.equal((await mails.round(listing([], { at: NOW - 6 * MINUTE }))).sent, 0);
    now += MINUTE;
    assert.equal((await mails.round(listing([4712]))).sent, 1);
    assert.equal((await mails.round(listing([]))).sent, 1);
    assert.equal(subjects().length, 2);
  });

  it('are one for a job that asked to run again, after its last run', async (t) => {
    const { begin, store, subjects } = await site(t, [ended({ exit_status: 99 }), ended({ job_id: 4712, failed: 25 })]);
    let now = NOW;
    const mails = begin({ bob: EACH_JOB }, () => now);
    const running = listing([], { withPending: false });
    assert.deepEqual(await mails.round(null), { sent: 0, wantsPending: false });
    assert.deepEqual(await mails.round(running), { sent: 0, wantsPending: true });
    assert.deepEqual(await mails.round(listing([4711, 4712])), { sent: 0, wantsPending: false });
    // Its last record comes seconds after qmaster has forgotten the job.
    assert.deepEqual(await mails.round(listing([4712])), { sent: 0, wantsPending: false });
    await store.merge([ended({ run_id: 'badcafe.second', started_at: at(-4), ended_at: at(-1) })]);
    now += MINUTE;
    assert.deepEqual(await mails.round(listing([4712])), { sent: 1, wantsPending: false });
    assert.deepEqual(subjects(), ['Job 4711 (sim): exit status 0']);
    assert.equal((await mails.round(listing([4712], { withPending: false }))).wantsPending, false);
  });

  it('are one for an array job, when its last task has ended', async (t) => {
    const task = (id: number, changes: Partial<JobRecord> = {}): JobRecord => ended({ task_id: id, ...changes });
    const { begin, store, subjects } = await site(t, [task(1), task(2, { exit_status: 3 })]);
    let now = NOW;
    const mails = begin({ bob: EACH_JOB }, () => now);
    assert.deepEqual(await mails.round(null), { sent: 0, wantsPending: false });
    assert.deepEqual(await mails.round(listing([], { withPending: false })), { sent: 0, wantsPending: true });
    assert.deepEqual(await mails.round(listing([4711])), { sent: 0, wantsPending: false });
    assert.deepEqual(await mails.round(listing([])), { sent: 0, wantsPending: false });
    await store.merge([task(3, { ended_at: at(-1) })]);
    now += MINUTE;
    assert.deepEqual(await mails.round(listing([])), { sent: 1, wantsPending: false });
    await store.merge([task(4, { ended_at: at(-0.5) })]);
    assert.equal((await mails.round(listing([]))).sent, 0);
    assert.deepEqual(subjects(), ['Array job 4711 (sim): 3 tasks ended, 1 of them badly']);
  });

  it('are at most thirty per owner and hour; the others go in the next hour', async (t) => {
    const jobs = Array.from({ length: 35 }, (_, index) => ended({ job_id: 5000 + index }));
    const { begin, sink } = await site(t, jobs);
    let now = NOW;
    const mails = begin({ bob: EACH_JOB }, () => now);
    assert.equal((await mails.round(null)).sent, 30);
    assert.equal((await mails.round(null)).sent, 0);
    now += HOUR;
    assert.equal((await mails.round(null)).sent, 5);
    assert.equal(new Set(sink.mails.map(({ headers }) => headers.get('subject'))).size, 35);
  });

  it('are tried at most thirty times per hour where the mail server refuses them', async (t) => {
    const jobs = Array.from({ length: 35 }, (_, index) => ended({ job_id: 5000 + index }));
    const { begin, sink } = await site(t, jobs);
    const mails = begin({ bob: EACH_JOB });
    let tried = 0;
    sink.answer = () => {
      tried++;
      return { code: 451, text: 'later' };
    };
    for (let round = 0; round < 2; round++) assert.equal((await mails.round(null)).sent, 0);
    assert.equal(tried, 30);
  });

  it('of an owner with a thousand jobs do not delay those of other owners', async (t) => {
    const single = Array.from({ length: 1000 }, (_, index) => ended({ job_id: 5000 + index }));
    const arrays = Array.from({ length: 400 }, (_, index) => ended({ job_id: 9000 + index, task_id: 1 }));
    const { begin, store, sink, looks } = await site(t, [...single, ...arrays]);
    const looksOf = async (work: () => Promise<void>): Promise<number> => {
      const before = looks();
      await work();
      return looks() - before;
    };
    const mails = begin({ bob: EACH_JOB, alice: EACH_JOB });
    const first = await looksOf(async () => assert.equal((await mails.round(null)).sent, 30));
    assert.ok(first < 300, `${first} looks into the ledger`);
    await store.merge([ended({ job_id: 4712, owner: 'alice' })]);
    const second = await looksOf(async () => assert.equal((await mails.round(null)).sent, 1));
    assert.ok(second < 300, `${second} looks into the ledger`);
    assert.deepEqual(sink.mails.at(-1)?.envelopeTo, ['alice@x.org']);
    const running = listing(
      single.map(({ job_id: job }) => job),
      { withPending: false },
    );
    const third = await looksOf(async () =>
      assert.deepEqual(await begin({ bob: EACH_JOB }).round(running), { sent: 0, wantsPending: true }),
    );
    assert.equal(third, 1);
  });

  it('are tried again where the mail server refused them, and have no header from a hostile job name', async (t) => {
    const { begin, sink, logged } = await site(t, [ended({ job_name: HOSTILE_NAME })]);
    const mails = begin({ bob: EACH_JOB });
    sink.answer = () => ({ code: 451, text: 'later' });
    assert.equal((await mails.round(null)).sent, 0);
    assert.match(logged.join('\n'), /the mail on a job for bob main 4711 .*was not sent, the next run tries again/);
    sink.answer = () => null;
    assert.equal((await mails.round(null)).sent, 1);
    assert.deepEqual(sink.mails[0]?.envelopeTo, ['bob@x.org']);
    assert.equal(sink.mails[0].headers.get('bcc'), undefined);
  });

  it('go for a job that asks by its context (-ac), and for no other job of its owner', async (t) => {
    const { begin, store, sink, subjects } = await site(t, [ended({ job_id: 4712 })]);
    const seen = listing([4711], { asked: [{ job: 4711, owner: 'bob' }] });
    assert.equal((await begin({}, () => NOW - HOUR).round(seen)).sent, 0);
    await store.merge([ended(), ended({ job_id: 4713 }), ended({ job_id: 4711, owner: 'alice', cluster: 'other' })]);
    // A restarted server.
    const mails = begin({});
    assert.equal((await mails.round(seen)).sent, 0);
    assert.equal((await mails.round(listing([]))).sent, 1);
    assert.equal((await mails.round(listing([]))).sent, 0);
    assert.equal((await begin({}).round(null)).sent, 0);
    assert.deepEqual(subjects(), ['Job 4711 (sim): exit status 0']);
    assert.deepEqual(sink.mails[0]?.envelopeTo, ['bob@x.org']);
    assert.match(sink.mails[0].text, /submitted with -ac qmemacct=mail, which asks for this mail\.\n$/);
  });

  it('go where the clock of the server is minutes ahead of the clocks of the hosts', async (t) => {
    const { begin, store, subjects } = await site(t, []);
    const mails = begin({});
    await mails.round(listing([4711], { asked: [{ job: 4711, owner: 'bob' }] }));
    await store.merge([ended()]);
    assert.equal((await mails.round(listing([]))).sent, 1);
    assert.deepEqual(subjects(), ['Job 4711 (sim): exit status 0']);
  });

  it('are one for an array job that asks for a mail and whose owner wants all mails, too', async (t) => {
    const { begin, store, subjects } = await site(t, []);
    let now = NOW;
    const mails = begin({ bob: EACH_JOB }, () => now);
    await mails.round(listing([4711], { asked: [{ job: 4711, owner: 'bob' }] }));
    await store.merge([1, 2, 3].map((task) => ended({ task_id: task })));
    assert.equal((await mails.round(listing([]))).sent, 0);
    now += MINUTE;
    assert.equal((await mails.round(listing([]))).sent, 1);
    assert.equal((await mails.round(listing([]))).sent, 0);
    assert.deepEqual(subjects(), ['Array job 4711 (sim): 3 tasks ended']);
  });

  it('go once, although the clock was hours ahead when they were sent', async (t) => {
    const { begin } = await site(t, [ended()]);
    assert.equal((await begin({ bob: EACH_JOB }, () => NOW + 15 * HOUR).round(null)).sent, 1);
    assert.equal((await begin({ bob: EACH_JOB }).round(null)).sent, 0);
  });

  it('that a job asked for are forgotten a day after the job was last listed', async (t) => {
    const { begin, store } = await site(t, []);
    let now = NOW;
    const mails = begin({}, () => now);
    await mails.round(listing([4711], { asked: [{ job: 4711, owner: 'bob' }] }));
    now += 25 * HOUR;
    await mails.round(listing([]));
    await store.merge([ended({ ended_at: at(24 * 60) })]);
    assert.equal((await mails.round(listing([]))).sent, 0);
  });

  it(
    'are sent by "qmemacct serve", and by one server only',
    { skip: process.getuid?.() !== 0 && 'needs root' },
    async (t) => {
      const directory = temporaryDirectory();
      const sink = await mailSink(t);
      const owner = userInfo().username;
      mkdirSync(join(directory, 'digest'));
      writeChoice(join(directory, 'digest'), 'on', ['each-job']);
      const now = new Date().toISOString();
      const store = openSqliteStore(join(directory, 'accounting.db'), 0o600);
      await store.merge([ended({ owner, submitted_at: now, started_at: now, ended_at: now })]);
      await store.close();
      const lines = [
        `accounting = "${directory}/accounting.db"`,
        `serve_socket = "${directory}/serve.sock"`,
        'serve_port = 0',
        'deliver_as = "root"',
        `run_dir = "${directory}/run"`,
        `state_dir = "${directory}/state"`,
        `digest_dir = "${directory}/digest"`,
        'mail_owners = "listed"',
        `mail_server = "smtp://127.0.0.1:${sink.port}?tls=off"`,
      ];
      writeFileSync(join(directory, 'qmemacct.toml'), `${lines.join('\n')}\n`);
      const arrived = new Promise<void>((resolve) => {
        sink.answer = () => {
          resolve();
          return null;
        };
      });
      const { child, said } = await startServing(t, join(directory, 'qmemacct.toml'));
      await arrived;
      const second = lines.map((line) => line.replace('serve.sock', 'second.sock'));
      writeFileSync(join(directory, 'second.toml'), `${second.join('\n')}\n`);
      const other = await startServing(t, join(directory, 'second.toml'));
      const kept = /mails about jobs can't be sent, .*\/job-mails\/lock: another server sends them \(\S+ \d+ /;
      await until(() => kept.test(other.said()), `why the second server sends none: ${other.said()}`);
      child.kill('SIGTERM');
      await new Promise((resolve) => child.once('exit', resolve));
      assert.deepEqual(
        sink.mails.map(({ headers }) => headers.get('subject')),
        ['Job 4711 (sim): exit status 0'],
        said(),
      );
    },
  );
});

describe('mails on jobs that may run out of memory', () => {
  const risk = { job: 4711, name: 'sim', owner: 'bob', reason: 'full', line: 'has reached 95 % of its limit' } as const;

  it('go once per job and reason, and at most five per owner and hour', async (t) => {
    const { begin, sink, subjects } = await site(t, []);
    const mails = begin({ bob: AT_RISK, alice: EACH_JOB });
    const facts = listing([], {
      risks: [risk, { ...risk, owner: 'alice', job: 1 }, { ...risk, owner: 'carol', job: 2 }],
    });
    assert.equal((await mails.round(facts)).sent, 1);
    assert.equal((await mails.round(facts)).sent, 0);
    assert.equal((await begin({ bob: AT_RISK }, () => NOW + 48 * HOUR).round(facts)).sent, 0);
    assert.equal((await mails.round(listing([], { risks: [{ ...risk, reason: 'trend' }] }))).sent, 1);
    assert.deepEqual(
      subjects(),
      Array.from({ length: 2 }, () => 'Job 4711 (sim) may run out of memory'),
    );
    assert.match(sink.mails[0]?.text ?? '', /^has reached 95 % of its limit\n\n"qmemacct job 4711" shows it/);
    const many = Array.from({ length: 10 }, (_, index) => ({ ...risk, job: 5000 + index }));
    assert.equal((await mails.round(listing([], { risks: many }))).sent, 3);
  });

  it('follow from what qmaster and the samplers say, as do jobs that ask for a mail', () => {
    const snapshot = workedExample();
    const view = viewCluster(snapshot, [], { rules: USUAL_RULES, nowMs: AT });
    const facts = factsOf(snapshot, view, new Date(AT));
    assert.deepEqual(
      [...(facts?.listed ?? [])].sort(),
      [...new Set(snapshot.running.value.map(({ job }) => job))].sort(),
    );
    assert.equal(facts?.withPending, false);
    assert.deepEqual(facts.asked, []);
    const { details } = snapshot;
    const value = details.value.map((detail) => ({ ...detail, wantsMail: true }));
    const gone = value.flatMap((detail) => [detail, { ...detail, job: 999_999 }]);
    const asking = factsOf({ ...snapshot, details: { ...details, value: gone } }, view, new Date(AT));
    assert.deepEqual(
      asking?.asked,
      value.map(({ job, owner }) => ({ job, owner })),
    );
    for (const { job, line } of facts.risks) assert.match(line, new RegExp(`job ${job}\\b`));
    const failed = { ...snapshot, running: { ...snapshot.running, problem: 'qmaster is down' } };
    assert.equal(factsOf(failed, view, new Date(AT)), null);
  });
});
