import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ledgerDirectory, openLedger, type Ledger } from '../../../src/cli/nightly/ledger';
import {
  runNightly,
  type NightlyOptions,
  type NightlyOutcome,
  type NightlyParts,
} from '../../../src/cli/nightly/run-nightly';
import type { DigestChoice } from '../../../src/cli/nightly/digest-choices';
import type { Settings } from '../../../src/record/settings';
import { createMailer } from '../../../src/cli/mail/mailer';
import { mailSink, scriptedServer, type MailSink } from '../mail/mail-sink';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeHistory, fakeNight, fakeReport, type FakeNight } from './fake-night';

const quiet = (): void => undefined;

function ledgerOf(night: FakeNight): Ledger {
  return openLedger(ledgerDirectory(night.settings), 'test', quiet);
}

async function runOnce(night: FakeNight, options: Partial<NightlyOptions> = {}): Promise<NightlyOutcome> {
  const ledger = ledgerOf(night);
  try {
    return await runNightly(night.parts, ledger, { mail: true, ...options });
  } finally {
    ledger.close();
  }
}

interface Site {
  readonly sink: MailSink;
  readonly directory: string;
  readonly night: (changes?: Partial<Settings>, parts?: Partial<NightlyParts>) => FakeNight;
  readonly recipients: () => string[];
}

/** A site that mails its admin, and every owner unless told otherwise. */
async function site(t: TestContext): Promise<Site> {
  const sink = await mailSink(t, { disabledCommands: ['AUTH', 'STARTTLS'] });
  const directory = temporaryDirectory();
  const mail = {
    mail_server: `smtp://127.0.0.1:${sink.port}`,
    mail_admins: ['ops@example.org'],
    mail_owners: 'all',
  } as const;
  return {
    sink,
    directory,
    night: (changes, parts) => fakeNight(directory, { ...mail, ...changes }, parts),
    recipients: () => sink.mails.flatMap(({ envelopeTo }) => envelopeTo.map((to) => to.split('@')[0] ?? '')),
  };
}

describe('a night', () => {
  it('runs from the import to the last mail', async (t) => {
    const { sink, directory, night, recipients } = await site(t);
    const one = night({ keep_records_days: 30 });
    const outcome = await runOnce(one);
    assert.deepEqual(one.done, [
      'import',
      'roll-up',
      'prune 30 400 0',
      'report 2026-11-20 *',
      'report 2026-11-20 alice',
      'report 2026-11-20 bob',
      'report 2026-11-20 carol',
      'close',
    ]);
    assert.deepEqual(recipients(), ['alice', 'bob', 'carol', 'ops']);
    const [digest] = sink.mails;
    assert.ok(digest !== undefined);
    assert.equal(digest.headers.get('subject'), 'Your jobs of 2026-11-20 on testcluster: 12 jobs');
    assert.equal(digest.headers.get('to'), 'alice@example.org');
    assert.match(digest.text, /^Report of alice on 2026-11-20\n[^]*digest off/);
    assert.match(digest.html, /<p>Report of alice on 2026-11-20<\/p>[^]*digest off/);
    assert.ok(!/bob|carol/.test(digest.raw));
    assert.equal(sink.mails[3]?.text, 'Report of the site on 2026-11-20\n');
    assert.deepEqual(outcome.done, ['2026-11-20']);
    assert.deepEqual([outcome.mails.sent, outcome.troubles], [4, []]);
    assert.deepEqual(readdirSync(join(directory, 'reports')), ['2026-11-20.html', '2026-11-20.json']);
    assert.match(readFileSync(join(directory, 'reports', '2026-11-20.html'), 'utf8'), /Report of the site/);
  });

  it('is not done twice, unless that is forced', async (t) => {
    const { night, recipients } = await site(t);
    await runOnce(night());
    const again = night();
    const nothing = await runOnce(again);
    assert.deepEqual([nothing.done, nothing.open, again.done], [[], [], []]);
    const dated = await runOnce(again, { date: '2026-11-20' });
    assert.deepEqual(dated.done, []);
    assert.equal(recipients().length, 4);
    const forced = await runOnce(night(), { date: '2026-11-20', force: true });
    assert.equal(forced.mails.sent, 4);
    assert.deepEqual(recipients().slice(4), recipients().slice(0, 4));
  });

  it('that was forced, and of which mails were not sent, sends these when the next night is due', async (t) => {
    const { night, recipients } = await site(t);
    await runOnce(night());
    const forced = await runOnce(night({ mail_server: '/nonexistent' }), { date: '2026-11-20', force: true });
    assert.deepEqual([forced.open, forced.mails.left], [['2026-11-20'], 4]);
    const next = await runOnce(night());
    assert.deepEqual([next.done, next.mails.sent], [['2026-11-20'], 4]);
    assert.deepEqual(recipients().slice(4), recipients().slice(0, 4));
  });

  it('that was done while the clock was ahead is done again when it is due', async (t) => {
    const { night, directory } = await site(t);
    await runOnce(night());
    const ahead = await runOnce(night({}, { now: new Date(2026, 11, 5, 3) }));
    assert.equal(ahead.done.at(-1), '2026-12-04');
    rmSync(join(directory, 'reports', '2026-12-02.html'));
    const right = await runOnce(night({}, { now: new Date(2026, 10, 23, 3) }));
    assert.deepEqual(right.done, ['2026-11-21', '2026-11-22']);
    const turn = await runOnce(night({}, { now: new Date(2026, 11, 3, 3) }));
    assert.equal(turn.done.at(-1), '2026-12-02');
    assert.ok(existsSync(join(directory, 'reports', '2026-12-02.html')));
  });

  it('of which a step fails for a week is reported so, not as missed', async (t) => {
    const { night } = await site(t);
    const broken = { importAccounting: () => Promise.reject(new Error('accounting.3.gz is damaged')) };
    const first = await runOnce(night({}, broken));
    assert.deepEqual([first.open, first.mails.sent], [['2026-11-20'], 4]);
    const later = await runOnce(night({}, { ...broken, now: new Date(2026, 10, 29, 3) }));
    assert.deepEqual(later.skipped, ['2026-11-20', '2026-11-21']);
    assert.deepEqual(later.troubles.slice(0, 2), [
      'missed too long ago for a report: 2026-11-21 (1)',
      'something failed in every run for a week, and is not tried again: 2026-11-20 (1)',
    ]);
  });

  it('that was missed is caught up, or reported where that was too long ago', async (t) => {
    const { night, recipients, sink } = await site(t);
    await runOnce(night({ mail_owners: 'nobody' }));
    const later = { now: new Date(2026, 11, 1, 3) };
    const outcome = await runOnce(night({ mail_owners: 'nobody' }, later));
    assert.equal(outcome.done.length, 7);
    assert.deepEqual(outcome.skipped, ['2026-11-21', '2026-11-22', '2026-11-23']);
    assert.equal(recipients().length, 8);
    assert.match(sink.mails[1]?.text ?? '', /missed too long ago for a report: 2026-11-21 to 2026-11-23 \(3\)/);
    const after = await runOnce(night({}, later));
    assert.deepEqual([after.done, after.skipped], [[], []]);
  });

  it('sends digests to owners who want them and whose names make an address', async (t) => {
    const choices: ReadonlyMap<string, DigestChoice> = new Map([
      ['alice', 'off'],
      ['bob', 'on'],
    ]);
    const recipientsUnder = async (rule: Settings['mail_owners']): Promise<string[]> => {
      const { night, recipients } = await site(t);
      await runOnce(night({ mail_owners: rule }, { choices: () => Promise.resolve(choices) }));
      return recipients();
    };
    assert.deepEqual(await recipientsUnder('nobody'), ['ops']);
    assert.deepEqual(await recipientsUnder('listed'), ['bob', 'ops']);
    assert.deepEqual(await recipientsUnder('all'), ['bob', 'carol', 'ops']);
    const { night, recipients, sink } = await site(t);
    const owners = ['x@evil.example', 'a\r\nBcc: y@evil.example', 'dave'];
    const odd = night({}, { report: (_store, one, owner) => Promise.resolve(fakeReport(one, owner, owners)) });
    await runOnce(odd);
    assert.deepEqual(recipients(), ['dave', 'ops']);
    assert.match(sink.mails[1]?.text ?? '', /no digest for the owner "x@evil\.example"/);
    assert.ok(sink.mails.every(({ names }) => !names.includes('bcc')));
  });

  it('goes on where a step fails, and mails the problems to the admins', async (t) => {
    const { night, recipients, sink } = await site(t);
    const done: string[] = [];
    const store = fakeHistory(done, { rollUp: () => Promise.reject(new Error('disk full\nat x')) });
    const bad = night(
      {},
      {
        importAccounting: () => Promise.reject(new Error('accounting: permission denied')),
        openStore: () => Promise.resolve(store),
        choices: () => Promise.reject(new Error('digest: unreadable')),
      },
    );
    const outcome = await runOnce(bad);
    // Who has declined is not known: no owner gets a mail.
    assert.deepEqual(recipients(), ['ops']);
    assert.match(sink.mails[0]?.headers.get('subject') ?? '', /with problems/);
    for (const pattern of [/import: accounting: permission denied\n/, /roll-up: disk full\n/, /digest: unreadable\n/])
      assert.match(sink.mails[0]?.text ?? '', pattern);
    assert.deepEqual(done, ['prune 0 400 0', 'close']);
    assert.deepEqual(outcome.open, ['2026-11-20']);
    assert.equal(bad.logged.length, 3);
    // The next run sends the digests; the admins have had their mail.
    await runOnce(night());
    assert.deepEqual(recipients(), ['ops', 'alice', 'bob', 'carol']);
  });

  it('whose import, roll-up or report file failed stays open until all succeed, and sends no mail twice', async (t) => {
    const broken: readonly [RegExp, Partial<Settings>, Partial<NightlyParts>][] = [
      [/^import: denied$/, {}, { importAccounting: () => Promise.reject(new Error('denied')) }],
      [
        /^roll-up: denied$/,
        {},
        { openStore: () => Promise.resolve(fakeHistory([], { rollUp: () => Promise.reject(new Error('denied')) })) },
      ],
      [/^report of 2026-11-20: ENOTDIR/, { report_dir: '/dev/null/reports' }, {}],
    ];
    for (const [trouble, settings, parts] of broken) {
      const { night, recipients, directory } = await site(t);
      const first = await runOnce(night(settings, parts), { date: '2026-11-20' });
      assert.deepEqual([first.done, first.open], [[], ['2026-11-20']], trouble.source);
      assert.match(first.troubles.join('\n'), trouble);
      const second = await runOnce(night(), { date: '2026-11-20' });
      assert.deepEqual([second.done, second.open, second.mails.before], [['2026-11-20'], [], 4], trouble.source);
      assert.equal(recipients().length, 4);
      assert.equal(readdirSync(join(directory, 'reports')).length, 2);
    }
  });

  it('for which the ledger has no room is done as far as possible, and stays open', async (t) => {
    const { night, recipients, directory } = await site(t);
    const one = night();
    const full = (): never => {
      throw new Error('nightly: no room');
    };
    const ledger = ledgerOf(one);
    const outcome = await runNightly(one.parts, { ...ledger, begin: full, settle: full }, { mail: true });
    ledger.close();
    assert.deepEqual([outcome.done, outcome.open], [[], ['2026-11-20']]);
    assert.deepEqual(outcome.troubles, ['ledger: nightly: no room', 'ledger: nightly: no room']);
    assert.equal(readdirSync(join(directory, 'reports')).length, 2);
    assert.deepEqual((await runOnce(night())).done, ['2026-11-20']);
    assert.equal(recipients().length, 4);
  });

  it('without a report is mailed to the admins once a day, and tried again', async (t) => {
    const { night, recipients, sink } = await site(t);
    const away = () => night({}, { openStore: () => Promise.reject(new Error('no such host')) });
    const outcome = await runOnce(away());
    assert.deepEqual(outcome.open, ['2026-11-20']);
    await runOnce(away());
    assert.deepEqual(recipients(), ['ops']);
    assert.match(sink.mails[0]?.text ?? '', /made no report of 2026-11-20:\naccounting DB: no such host/);
    assert.deepEqual((await runOnce(night())).done, ['2026-11-20']);
    assert.deepEqual(recipients(), ['ops', 'alice', 'bob', 'carol', 'ops']);
  });

  it('tries a mail again after a temporary refusal, not after a final one', async (t) => {
    const { night, recipients, sink } = await site(t);
    sink.answer = (to) => (to.startsWith('bob') ? { code: 452, text: 'full' } : null);
    sink.admits = (to) => (to.startsWith('carol') ? { code: 550, text: 'unknown' } : null);
    const first = await runOnce(night());
    assert.deepEqual(first.mails, { sent: 2, before: 0, refused: 1, doubt: 0, left: 1 });
    assert.deepEqual(recipients(), ['alice', 'ops']);
    assert.match(sink.mails[1]?.text ?? '', /digest for bob was not sent[^]*digest for carol was refused/);
    sink.answer = () => null;
    const second = await runOnce(night());
    assert.deepEqual(second.mails, { sent: 1, before: 3, refused: 0, doubt: 0, left: 0 });
    assert.deepEqual(recipients(), ['alice', 'ops', 'bob']);
    assert.deepEqual(second.done, ['2026-11-20']);
  });

  it('tries a mail server that is away once, not for each recipient', async (t) => {
    const { night, recipients } = await site(t);
    const away = night({ mail_server: 'smtp://127.0.0.1:1' });
    const outcome = await runOnce(away);
    assert.deepEqual([outcome.open, outcome.mails.left, outcome.troubles.length], [['2026-11-20'], 4, 1]);
    assert.equal((await runOnce(night())).mails.sent, 4);
    assert.equal(recipients().length, 4);
  });

  it('gives only one message to a mail server that falls silent', async (t) => {
    const { night, recipients } = await site(t);
    const lines = ['220 x', '250 x', '250 sender', '250 recipient', '354 go on', null];
    const port = await scriptedServer(t, lines);
    const settings = night({ mail_server: `smtp://127.0.0.1:${port}` }).settings;
    // The server is in this process: longer than a busy machine stops both.
    const mailer = () => createMailer(settings, 'login1', { connect: 60_000, answer: 12_000 });
    const outcome = await runOnce(night({}, { mailer }));
    assert.deepEqual(outcome.mails, { sent: 0, before: 0, refused: 0, doubt: 1, left: 3 });
    assert.match(outcome.troubles.join('\n'), /digest for alice may or may not have been sent, and is not sent again/);
    const next = await runOnce(night());
    assert.deepEqual([next.mails.doubt, next.done], [1, ['2026-11-20']]);
    assert.deepEqual(recipients(), ['bob', 'carol', 'ops']);
  });

  it('without mail leaves its mails to the next run with mail', async (t) => {
    const { night, recipients } = await site(t);
    const outcome = await runOnce(night(), { mail: false });
    assert.deepEqual([outcome.done, recipients()], [['2026-11-20'], []]);
    assert.deepEqual((await runOnce(night(), { mail: false })).done, []);
    assert.deepEqual((await runOnce(night())).done, ['2026-11-20']);
    assert.equal(recipients().length, 4);
    const nobody = fakeNight(temporaryDirectory());
    assert.deepEqual((await runOnce(nobody)).done, ['2026-11-20']);
    assert.deepEqual((await runOnce(nobody)).done, []);
  });

  it('that is interrupted is finished by the next run', async (t) => {
    const { night, recipients, sink } = await site(t);
    const controller = new AbortController();
    sink.admits = (to) => {
      if (to.startsWith('bob')) controller.abort();
      return null;
    };
    const outcome = await runOnce(night({}, { signal: controller.signal }));
    assert.deepEqual([outcome.interrupted, outcome.open], [true, ['2026-11-20']]);
    assert.deepEqual(recipients(), ['alice', 'bob']);
    await runOnce(night());
    assert.deepEqual(recipients(), ['alice', 'bob', 'carol', 'ops']);
  });

  it('that is killed between two mails sends none twice', async (t) => {
    const { night, recipients, sink, directory } = await site(t);
    const script = join(__dirname, 'run-one-night.js');
    const child = spawn(process.execPath, [script, directory, String(sink.port)], { stdio: 'inherit' });
    const ended = new Promise((resolve) => child.on('exit', (_code, signal) => resolve(signal)));
    // The mail server has bob's message; the night is killed before it hears so.
    sink.answer = (to) => {
      if (to.startsWith('bob')) child.kill('SIGKILL');
      return null;
    };
    assert.equal(await ended, 'SIGKILL');
    sink.answer = () => null;
    const outcome = await runOnce(night());
    assert.deepEqual(outcome.mails, { sent: 2, before: 1, refused: 0, doubt: 1, left: 0 });
    assert.deepEqual([recipients(), outcome.done], [['alice', 'bob', 'carol', 'ops'], ['2026-11-20']]);
    assert.match(sink.mails.at(-1)?.text ?? '', /digest for bob: an earlier run ended while it was being sent/);
  });

  it('is done by only one of two runs that begin at once', async (t) => {
    const { night, recipients } = await site(t);
    const both = await Promise.allSettled([runOnce(night()), runOnce(night())]);
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    assert.match(
      String(both.find(({ status }) => status === 'rejected')?.['reason' as never]),
      /another nightly job is running/,
    );
    assert.equal(recipients().length, 4);
  });
});
