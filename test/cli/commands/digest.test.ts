import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { runProgram } from '../../../src/cli/program';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeTerminal, type FakeTerminal } from '../fake-terminal';

type Run = (...words: string[]) => Promise<{ readonly status: number; readonly terminal: FakeTerminal }>;

function site(rule: string, directory = temporaryDirectory()): Run {
  const config = join(temporaryDirectory(), 'qmemacct.toml');
  writeFileSync(config, `mail_owners = "${rule}"\ndigest_dir = "${directory}"\n`);
  return async (...words) => {
    const terminal = fakeTerminal();
    return { status: await runProgram(['--config', config, 'digest', ...words], '0', terminal), terminal };
  };
}

describe('digest', () => {
  it('sets mails on single jobs beside the daily digest', async () => {
    const run = site('listed');
    const { terminal } = await run('off', '--each-job', '--at-risk');
    assert.equal(
      terminal.output(),
      'no digest: "qmemacct digest on" asks for it\na mail when a job of yours has ended, one for an array job\na mail when a job of yours may run out of memory\n',
    );
    const expected = { schema: 1, wish: 'off', digest: false, each_job: true, at_risk: true };
    assert.deepEqual(JSON.parse((await run('status', '--json')).terminal.output()), expected);
    assert.doesNotMatch((await run('on')).terminal.output(), /single|ended|memory/);
    const misused = await run('status', '--each-job');
    assert.deepEqual([misused.status, misused.terminal.output()], [2, '']);
  });

  it('stores the choice of "on" and of "off" in one file', async () => {
    const directory = temporaryDirectory();
    const run = site('listed', directory);
    const before = await run();
    assert.deepEqual([before.status, before.terminal.output()], [1, 'no digest: "qmemacct digest on" asks for it\n']);
    assert.match((await run('on')).terminal.output(), /^a mail about your jobs after each day/);
    assert.equal((await run('status')).status, 0);
    assert.match((await run('off')).terminal.output(), /^no digest/);
    assert.equal(readdirSync(directory).length, 1);
  });

  it('is on without a choice where the site sends it to all, until "off"', async () => {
    const run = site('all');
    assert.equal((await run()).status, 0);
    await run('off');
    const { status, terminal } = await run('--json');
    assert.deepEqual(
      [status, JSON.parse(terminal.output())],
      [1, { schema: 1, wish: 'off', digest: false, each_job: false, at_risk: false }],
    );
  });

  it('says that the site sends none, or that no choice can be stored on this host', async () => {
    const nobody = await site('nobody')('on');
    assert.match(nobody.terminal.output(), /this site sends no digests/);
    assert.match(nobody.terminal.warnings(), /your choice is stored all the same/);
    const elsewhere = await site('all', '/nonexistent/digest')('off');
    assert.equal(elsewhere.status, 3);
    assert.match(elsewhere.terminal.warnings(), /digest_dir \/nonexistent\/digest is not on this host/);
    assert.equal((await site('all')('maybe')).status, 2);
  });

  it('keeps the earlier choice where the disk is full, and says so each time', async (t) => {
    const directory = temporaryDirectory();
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory]).status !== 0) {
      t.skip("tmpfs can't be mounted here");
      return;
    }
    t.after(() => spawnSync('umount', [directory]));
    const run = site('all', directory);
    await run('off');
    const fill = join(directory, 'fill');
    assert.throws(() => writeFileSync(fill, Buffer.alloc(1024 * 1024)), /ENOSPC/);
    for (let tries = 0; tries < 20; tries++) {
      const { status, terminal } = await run('off', '--each-job');
      assert.equal(status, 3);
      assert.match(terminal.warnings(), /has no room for your choice: ENOSPC.*; make room there, or ask an admin/);
    }
    rmSync(fill);
    assert.match((await run()).terminal.output(), /^no digest: you declined it/);
    assert.equal(readdirSync(directory).length, 1);
  });
});
