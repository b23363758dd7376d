import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type NightlyCommandOptions, nightly } from '../../../src/cli/commands/nightly';
import { ledgerDirectory, openLedger } from '../../../src/cli/nightly/ledger';
import { nightSteps, type NightSteps } from '../../../src/cli/nightly/night-steps';
import { writeChoice } from '../../../src/cli/nightly/digest-choices';
import { runProgram } from '../../../src/cli/program';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeTerminal, type FakeTerminal } from '../fake-terminal';
import { fakeHistory, fakeReport } from '../nightly/fake-night';

interface Site {
  readonly directory: string;
  readonly options: NightlyCommandOptions;
  readonly steps: NightSteps;
  readonly terminal: FakeTerminal;
  readonly run: (changes?: Partial<NightlyCommandOptions>) => Promise<number>;
  /** The recipients that the host's sendmail was given, in order. */
  readonly mails: () => readonly string[];
}

function site(settings = '', steps: Partial<NightSteps> = {}, admins = '["ops"]'): Site {
  const directory = temporaryDirectory();
  const config = join(directory, 'qmemacct.toml');
  const sendmail = join(directory, 'sendmail');
  const sent = join(directory, 'sent');
  writeFileSync(sendmail, `#!/bin/sh\nfor word; do last=$word; done\necho "$last" >>${sent}\ncat >/dev/null\n`, {
    mode: 0o755,
  });
  mkdirSync(join(directory, 'digest'));
  const lines = [
    'cluster = "testcluster"',
    'deliver_as = "root"',
    `accounting = "${directory}/accounting.db"`,
    `report_dir = "${directory}/reports"`,
    `digest_dir = "${directory}/digest"`,
    `mail_server = "${sendmail}"`,
    `mail_admins = ${admins}`,
    settings,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const allSteps: NightSteps = {
    openStore: () => Promise.resolve(fakeHistory([])),
    openReader: () => Promise.resolve(fakeHistory([])),
    importAccounting: () => Promise.resolve('nothing new'),
    report: (_store, night, owner) => Promise.resolve(fakeReport(night, owner, ['root', 'alice'])),
    ...steps,
  };
  const terminal = fakeTerminal({ now: () => new Date(2026, 10, 21, 3) });
  const options: NightlyCommandOptions = { config, color: false, mail: true };
  return {
    directory,
    options,
    steps: allSteps,
    terminal,
    run: (changes = {}) => nightly({ ...options, ...changes }, terminal, allSteps),
    mails: () => (existsSync(sent) ? readFileSync(sent, 'utf8').trim().split('\n') : []),
  };
}

describe('nightly', () => {
  it('does the last night, says so in one line, and has nothing to do when it runs again', async () => {
    const { run, terminal, mails } = site('mail_owners = "all"');
    assert.equal(await run(), 0, terminal.warnings());
    assert.equal(terminal.output(), 'done: 2026-11-20; 3 mails sent\n');
    assert.deepEqual(mails(), ['root', 'alice', 'ops']);
    assert.equal(await run(), 0);
    assert.match(terminal.output(), /nothing to do: every night is done\n$/);
    assert.equal(mails().length, 3);
    assert.equal(terminal.warnings(), '');
  });

  it(
    'sends a digest only to an owner who asked for it',
    { skip: process.getuid?.() !== 0 && 'needs root' },
    async () => {
      const { run, directory, mails } = site('mail_owners = "listed"');
      writeChoice(join(directory, 'digest'), 'on');
      assert.equal(await run(), 0);
      assert.deepEqual(mails(), ['root', 'ops']);
    },
  );

  it('--dry-run lists what would be done, and does nothing', async () => {
    const { run, terminal, mails, directory } = site('mail_owners = "all"\nmail_domain = "example.org"');
    assert.equal(await run({ dryRun: true }), 0);
    assert.deepEqual(terminal.output().trim().split('\n'), [
      `import, roll-up and prune in ${directory}/accounting.db`,
      `write ${directory}/reports/2026-11-20.html and .json`,
      '2026-11-20: digest for root, mail to root@example.org',
      '2026-11-20: digest for alice, mail to alice@example.org',
      '2026-11-20: report, mail to ops',
    ]);
    assert.deepEqual([mails(), existsSync(join(directory, 'nightly'))], [[], false]);
    await run();
    assert.equal(await run({ dryRun: true }), 0);
    assert.match(terminal.output(), /nothing to do: every night is done\n$/);
  });

  it('--dry-run says that a new site gets an accounting DB, and fails where its directory is missing', async () => {
    const { run, terminal, directory } = site('mail_owners = "all"', { openReader: nightSteps.openReader });
    assert.equal(await run({ dryRun: true }), 0);
    assert.deepEqual(terminal.output().trim().split('\n'), [
      `make the accounting DB ${directory}/accounting.db`,
      `import, roll-up and prune in ${directory}/accounting.db`,
      `write ${directory}/reports/2026-11-20.html and .json`,
      '2026-11-20: report, mail to ops',
    ]);
    rmSync(directory, { recursive: true });
    mkdirSync(directory);
    writeFileSync(join(directory, 'qmemacct.toml'), `accounting = "${directory}/none/a.db"\ndeliver_as = "root"\n`);
    await assert.rejects(run({ dryRun: true }), /none\/a\.db: it does not exist/);
  });

  it('--force --dry-run lists what --force does: the last night again, each mail once', async () => {
    const { run, terminal, mails } = site('', {}, '["ops", "ops"]');
    await run();
    assert.equal(await run({ force: true, dryRun: true }), 0);
    assert.deepEqual(terminal.output().match(/2026-11-20: .*/g), ['2026-11-20: report, mail to ops']);
    await run({ force: true });
    assert.deepEqual(mails(), ['ops', 'ops']);
  });

  it('names the step that failed, and ends with status 3', async () => {
    const failing = { importAccounting: () => Promise.reject(new Error('accounting: no such file')) };
    const { run, terminal, mails } = site('', failing);
    assert.equal(await run(), 3);
    assert.equal(terminal.warnings(), 'qmemacct: import: accounting: no such file\n');
    assert.equal(terminal.output(), 'to be tried again: 2026-11-20; 1 mail sent; 1 problem\n');
    assert.deepEqual(mails(), ['ops']);
  });

  it('prints its result as JSON', async () => {
    const { run, terminal } = site();
    assert.equal(await run({ json: true }), 0);
    const { schema, done, mails } = JSON.parse(terminal.output()) as Record<string, unknown>;
    assert.deepEqual([schema, done], [1, ['2026-11-20']]);
    assert.deepEqual(mails, { sent: 1, before: 0, refused: 0, doubt: 0, left: 0 });
  });

  it('writes its report even where the mail settings are wrong, and says what is wrong', async () => {
    const { run, terminal, directory, mails } = site('mail_domain = "no domain"');
    assert.equal(await run(), 3);
    assert.match(terminal.warnings(), /mail: mail_domain = "no domain"/);
    assert.match(terminal.output(), /to be tried again: 2026-11-20/);
    assert.ok(existsSync(join(directory, 'reports', '2026-11-20.html')));
    assert.deepEqual(mails(), []);
  });

  it('is refused while another nightly job runs', async () => {
    const { run, directory } = site();
    const ledger = openLedger(
      ledgerDirectory({ accounting: `${directory}/a.db`, report_dir: '', state_dir: '' }),
      'x 1',
      () => undefined,
    );
    await assert.rejects(run(), /nightly\/lock: another nightly job is running \(x 1\)/);
    ledger.close();
    assert.equal(await run(), 0);
  });

  it('shows its progress on a terminal', async () => {
    const { options, steps } = site();
    const terminal = fakeTerminal({ isTTY: true, now: () => new Date(2026, 10, 21, 3) });
    assert.equal(await nightly(options, terminal, steps), 0);
    assert.match(
      terminal.output(),
      /import: nothing new\nroll-up: 3 days summed\nprune: .*\nreport: .*2026-11-20\.html\n/,
    );
    assert.ok(terminal.output().includes('\r\u001b[Kmails of 2026-11-20: 0 of 1'));
  });

  it('refuses --csv, and a --date that is no day or not over yet', async () => {
    const { options } = site();
    const refused = async (...words: string[]): Promise<string> => {
      const terminal = fakeTerminal({ now: () => new Date(2026, 10, 21, 3) });
      assert.equal(await runProgram(['--config', options.config, 'nightly', ...words], '0', terminal), 2);
      return terminal.warnings();
    };
    assert.match(await refused('--date', 'yesterday'), /--date: "yesterday" is not a day/);
    assert.match(await refused('--date', '2026-11-21'), /not over yet/);
    assert.match(await refused('--csv'), /no CSV/);
  });
});
