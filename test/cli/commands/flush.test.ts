import assert from 'node:assert/strict';
import { chownSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { HOUR_MS } from '../../../src/base/units';
import { openSqliteReader } from '../../../src/accounting/sqlite/sqlite-store';
import { runProgram } from '../../../src/cli/program';
import { makePrivateState } from '../../../src/cli/run/private-state';
import { ownStorePath } from '../../../src/cli/stores/stores';
import { DeliveryLock } from '../../../src/sampler/delivery/delivery-lock';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import { fakeTerminal } from '../fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';
import { recordOf } from '../../support/records';

interface Undelivered {
  readonly env: Record<string, string>;
  readonly accounting: string;
  readonly words: (...more: string[]) => string[];
}

/** A user's own state with one finished job that was not delivered. */
function undelivered(endedMs = 1_700_000_000_000): Undelivered {
  const home = temporaryDirectory();
  const env = { HOME: home };
  // So that nothing of this machine's own samplers is touched.
  const config = join(home, 'qmemacct.toml');
  writeFileSync(config, `state_dir = "${join(home, 'nothing')}"\n`);
  const accounting = ownStorePath(env);
  const state = makePrivateState(join(dirname(accounting), 'run-state'), { cluster: 'local', accounting });
  const store = new NodeStore(state.directory);
  store.finish('7.0.0123abcd.1.1', 0, recordOf({ cluster: 'local', job_id: 7, trust: 'usage', revision: endedMs }), []);
  store.close();
  return { env, accounting, words: (...more) => ['flush', '--config', config, ...more] };
}

describe('flush', () => {
  it("delivers the records that wait in a user's own state", async () => {
    const { env, words } = undelivered();
    const terminal = fakeTerminal({ env });
    assert.equal(await runProgram(words(), '0', terminal), 0, terminal.warnings());
    assert.match(terminal.output(), /run-state: delivered 1 record\n$/);
    const again = fakeTerminal({ env });
    assert.equal(await runProgram(words('--json'), '0', again), 0);
    const { schema, stores } = JSON.parse(again.output()) as { schema: number; stores: { left: number }[] };
    assert.deepEqual([schema, stores.at(-1)?.left], [1, 0]);
    const quiet = fakeTerminal({ env });
    assert.equal(await runProgram(words('--quiet'), '0', quiet), 0);
    assert.equal(quiet.output() + quiet.warnings(), '');
  });

  it('--since delivers again what ended since then, for an accounting DB that was restored or begun anew', async () => {
    const { env, accounting, words } = undelivered(Date.now() - 2 * HOUR_MS);
    assert.equal(await runProgram(words(), '0', fakeTerminal({ env })), 0);
    for (const [since, delivered] of [
      ['3h', 1],
      ['1h', 0],
    ] as const)
      for (const isLost of [false, true]) {
        if (isLost) rmSync(accounting);
        const terminal = fakeTerminal({ env, now: () => new Date() });
        assert.equal(await runProgram(words('--since', since), '0', terminal), 0, terminal.warnings());
        assert.match(terminal.output(), new RegExp(`delivered ${delivered} record`));
        if (delivered === 0) continue;
        const reader = openSqliteReader(accounting);
        assert.equal((await reader.job({ job_id: 7 })).records.length, 1);
        await reader.close();
      }
    const terminal = fakeTerminal({ env });
    assert.equal(await runProgram(words('--since', 'now-ish'), '0', terminal), 2);
    assert.match(terminal.warnings(), /--since: "now-ish" is not a time/);
  });

  it(
    'writes nothing as root through a symbolic link in the home of a user',
    { skip: process.getuid?.() !== 0 },
    async () => {
      const { env, accounting, words } = undelivered();
      const place = temporaryDirectory();
      const home = dirname(accounting);
      rmSync(join(home, 'run-state'), { recursive: true });
      symlinkSync(place, join(home, 'run-state'));
      chownSync(home, 65_534, 65_534);
      assert.equal(await runProgram(words(), '0', fakeTerminal({ env })), 3);
      assert.deepEqual(readdirSync(place), []);
      const terminal = fakeTerminal({ env });
      assert.notEqual(await runProgram(['run', '--', 'true'], '0', terminal), 0);
      assert.match(terminal.warnings(), /belongs to uid 65534, and could lead root elsewhere/);
      assert.deepEqual(readdirSync(place), []);
    },
  );

  it('says why records stay undelivered, with status 3', async () => {
    const { env, accounting, words } = undelivered();
    mkdirSync(dirname(accounting), { recursive: true });
    writeFileSync(accounting, 'no database, but long enough to be looked at as one: it will not do');
    const terminal = fakeTerminal({ env });
    assert.equal(await runProgram(words('--patience', '0'), '0', terminal), 3);
    assert.match(terminal.output(), /delivered 0 records, 1 left/);
    assert.match(terminal.warnings(), /1 record waits in .*run-state\/node.db: .*accounting.db/);
  });

  it('wakes the process that delivers, and shows the error of its last try', async () => {
    const { env, accounting, words } = undelivered();
    const lock = DeliveryLock.take(join(dirname(accounting), 'run-state')) ?? assert.fail();
    lock.noteProblem('everyone may write to /the/place');
    const woken = lock.pause(3_600_000);
    const terminal = fakeTerminal({ env });
    assert.equal(await runProgram(words('--patience', '0'), '0', terminal), 3);
    assert.match(
      terminal.warnings(),
      /1 record waits in .*: another process delivers them, and its last try failed: everyone may write to \/the\/place\n/,
    );
    await woken;
    lock.noteProblem(null);
    lock.release();
    assert.equal(await runProgram(words(), '0', fakeTerminal({ env })), 0);
  });

  it("delivers the status of the host where no record waits, or says why it can't", async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'state'));
    const accounting = join(directory, 'accounting.db');
    const config = join(directory, 'qmemacct.toml');
    const lines = [`state_dir = "${directory}/state"`, `accounting = "${accounting}"`, 'deliver_as = "root"'];
    writeFileSync(config, `${lines.join('\n')}\ncluster = "cell"\n`);
    const run = async (): Promise<readonly [number, string]> => {
      const terminal = fakeTerminal({ env: { HOME: directory } });
      return [await runProgram(['flush', '--config', config], '0', terminal), terminal.warnings()];
    };
    assert.deepEqual(await run(), [0, '']);
    const reader = openSqliteReader(accounting);
    const [node] = await reader.nodes({ since: 0 });
    await reader.close();
    assert.deepEqual([node?.cluster, node?.host, node?.waiting, node?.last_job_at], ['cell', hostname(), 0, null]);
    rmSync(accounting);
    writeFileSync(accounting, 'no database, but long enough to be looked at as one: it will not do');
    const [status, warnings] = await run();
    assert.equal(status, 3);
    assert.match(warnings, /the host's status can't be delivered: .*accounting\.db/);
  });

  it('refuses a --patience that is not a number', async () => {
    const terminal = fakeTerminal();
    assert.equal(await runProgram(['flush', '--patience', 'x'], '0', terminal), 2);
    assert.match(terminal.warnings(), /--patience "x"/);
  });
});
