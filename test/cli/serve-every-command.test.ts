import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import { createProgram } from '../../src/cli/program';
import { MANY_OWNERS } from '../report/many-owners';
import { isRun, type Attempt } from './every-command';
import { fakeTerminal } from './fake-terminal';
import { startServing, asUser, NOBODY, notRoot } from '../support/qmemacct';
import { temporaryDirectory } from '../support/temporary-directory';

/** A usage error that does not come from the server. */
const NEEDS_A_TERMINAL = '--watch needs a terminal';
/** The warning of the live commands where the server has no Grid Engine to ask. */
const NO_GRID_ENGINE =
  /^qmemacct: qmemacct serve gave no answer \(.*: nothing is known of the cluster yet: .*\); qmaster is asked$/m;

describe('qmemacct serve', () => {
  it('answers every command and option of an ordinary user', { skip: notRoot }, async (t) => {
    const directory = temporaryDirectory(0o755);
    const home = join(directory, 'home');
    mkdirSync(home);
    chownSync(home, NOBODY, NOBODY);
    mkdirSync(join(directory, 'accounting'), { mode: 0o700 });
    const config = join(directory, 'qmemacct.toml');
    const lines = [
      `accounting = "${directory}/accounting/accounting.db"`,
      `serve_socket = "${directory}/run/serve.sock"`,
      `run_dir = "${directory}/none"`,
      `state_dir = "${directory}/state"`,
      'serve_port = 0',
      'cluster = "cell"',
      'mail_server = "/bin/true"',
      'mail_admins = ["root@localhost"]',
    ];
    writeFileSync(config, lines.join('\n'));
    const store = openSqliteStore(join(directory, 'accounting', 'accounting.db'), 0o600);
    await store.merge(MANY_OWNERS);
    await store.close();
    await startServing(t, config);

    const everyCommand = [process.execPath, require.resolve('./every-command'), config];
    const [setpriv = '', ...words] = [...asUser(NOBODY), ...everyCommand];
    const env = { PATH: process.env.PATH, HOME: home, SGE_ROOT: '/nonexistent' };
    const { stdout, stderr } = spawnSync(setpriv, words, { cwd: home, encoding: 'utf8', env });
    assert.equal(stderr, '');
    const all = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Attempt);
    const bad = all.filter(
      ({ status, warnings }) =>
        /the server at|qmemacct serve|samplers are missing|is a bug/.test(warnings.replace(NO_GRID_ENGINE, '')) ||
        (status === 2 && !warnings.includes(NEEDS_A_TERMINAL)),
    );
    assert.deepEqual(bad, []);
    const program = await createProgram([], {
      terminal: fakeTerminal(),
      version: '1',
      finish: () => Promise.resolve(),
    });
    const names = program.commands.map((command) => command.name());
    assert.deepEqual(new Set(all.map(({ words }) => words[0])), new Set(names.filter(isRun)));
    // Each of these was answered with records.
    for (const name of ['advise', 'job', 'jobs', 'owner', 'project', 'host', 'top', 'report'])
      assert.ok(
        all.some(({ words, status }) => words[0] === name && status === 0),
        name,
      );
  });
});
