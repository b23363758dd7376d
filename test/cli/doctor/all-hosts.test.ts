import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { askAll, faultsByHost, faultsOfAll, type HostAnswer } from '../../../src/cli/doctor/all-hosts';
import { askEach } from '../../../src/cli/doctor/ask-host';
import type { Finding } from '../../../src/cli/doctor/finding';
import { checkHosts } from '../../../src/cli/install/check-hosts';
import { commandPath } from '../../../src/cli/install/places';
import { COMMAND, runCommand } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';

function script(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

const finding = (severity: Finding['severity'], name: string, says: string, fix: string | null = null): Finding => ({
  area: 'sources',
  name,
  severity,
  says,
  fix,
});

describe('doctor of all hosts', () => {
  it("shows what each host's own doctor finds, and which hosts do not answer", async () => {
    const top = temporaryDirectory();
    const prefix = join(top, 'opt');
    script(commandPath(prefix), `exec '${process.execPath}' '${COMMAND}' "$@"`);
    const ssh = script(
      join(top, 'ssh'),
      '[ "$1" != node3 ] || { echo "node3: no route to host" >&2; exit 255; }; shift; exec "$@"',
    );
    const settingsPath = join(top, 'qmemacct.toml');
    writeFileSync(settingsPath, `state_dir = "${top}/state"\nrun_dir = "${top}/run"\n[sources.nosuch]\ninterval = 1\n`);
    const question = { template: [ssh, '{host}'], prefix, settingsPath, options: ['--execution-host'] };
    const answers = await askAll(['node1', 'node2', 'node3', '-oProxyCommand=x'], question, 'node9');
    assert.deepEqual(
      answers.map(({ host, silent }) => `${host} ${silent ?? 'answers'}`),
      ['node1 answers', 'node2 answers', 'node3 node3: no route to host', '-oProxyCommand=x not a plain host name'],
    );
    const [silent, ...faults] = faultsOfAll(answers);
    assert.equal(silent?.severity, 'problem');
    assert.match(silent.says, /^2 of 4 hosts \(node3, -oProxyCommand=x\): as on node3: node3: no route to host$/);
    const settings = faults.find(({ area, name }) => area === 'sources' && name === 'settings');
    assert.match(settings?.says ?? '', /^2 of 4 hosts \(node1, node2\): .*\[sources\.nosuch\]: no such source/);
    assert.match(faults.at(-1)?.says ?? '', /^0 of 4 hosts have neither/);
  });

  it('says why a host gave no answer', async () => {
    const top = temporaryDirectory();
    const ssh = script(
      join(top, 'ssh'),
      'case $1 in greets) echo Welcome to greets; echo more; exit 1;; ends) kill -9 $$;; hangs) exec sleep 600;; esac',
    );
    const question = { prefix: join(top, 'opt'), settingsPath: join(top, 'x.toml'), options: [] };
    const reason = async (host: string, command = ssh, patience = {}): Promise<string | null | undefined> =>
      (await askAll([host], { ...question, template: [command, '{host}'], ...patience }, 'node9'))[0]?.silent;
    assert.equal(await reason('greets'), 'not an answer of "qmemacct doctor"; it begins with: Welcome to greets');
    assert.equal(await reason('ends'), 'no answer of "qmemacct doctor"');
    assert.equal(await reason('hangs', ssh, { patienceMs: 500 }), 'no answer within 0.5 s');
    assert.equal(await reason('x', join(top, 'none')), `spawn ${top}/none ENOENT`);
  });

  it('knows this host by its name in Grid Engine (host_aliases), as install does, and does not ask it', async () => {
    const stateDir = temporaryDirectory();
    const own = 'node2-ib';
    writeFileSync(join(stateDir, 'installed'), JSON.stringify({ host: own }));
    const question = { prefix: join(stateDir, 'opt'), settingsPath: join(stateDir, 'x.toml') };
    const [here] = await askAll([own], { ...question, options: [], template: ['false', '{host}'] }, own);
    assert.match(here?.silent ?? '', /^spawn .*\/opt\/.* ENOENT$/);
    const verdicts = await checkHosts([`${own}.example`, 'node2'], {
      ...question,
      stateDir,
      env: null,
      template: null,
    });
    assert.match(verdicts[0]?.reason ?? '', /^nothing is installed under /);
    assert.equal(verdicts[1]?.reason, 'not checked yet');
  });

  it('refuses a --node-check without {host}, as install does', async () => {
    for (const words of [['doctor', '--all'], ['install']]) {
      const { status, warnings } = await runCommand([...words, '--node-check', 'ssh']);
      assert.equal(status, 2, warnings);
      assert.match(warnings, /--node-check "ssh": write \{host\} where the host's name goes, as in 'ssh \{host\}'/);
    }
  });

  it('shows a fault of several hosts once, the most common first, with at most eight host names', () => {
    const gpu = finding('warning', 'gpu', 'no driver', 'load it');
    const answers: HostAnswer[] = Array.from({ length: 20 }, (_, index) => ({
      host: `node${index}`,
      silent: null,
      checks: [
        finding('ok', 'memory', 'can be read'),
        ...(index === 3 ? [finding('problem', 'disk', 'full')] : []),
        ...(index < 10 ? [{ ...gpu, says: `device ${index} has no driver` }] : []),
      ],
    }));
    assert.deepEqual(
      faultsOfAll(answers).map(({ severity, says }) => `${severity} ${says}`),
      [
        'warning 10 of 20 hosts (node0, node1, node2, node3, node4, node5, node6, node7 and 2 more): as on node0: device 0 has no driver',
        'problem 1 of 20 hosts (node3): full',
        'ok 10 of 20 hosts have neither problem nor warning',
      ],
    );
    assert.deepEqual(
      faultsByHost(answers).map(({ checks }) => checks.length),
      [1, 1, 1, 2, 1, 1, 1, 1, 1, 1, ...Array<number>(10).fill(0)],
    );
  });

  it('asks the next hosts while a silent one has not answered', async () => {
    let release: (word: string) => void = () => undefined;
    const silent = new Promise<string>((resolve) => (release = resolve));
    const asked: string[] = [];
    const all = askEach(['silent', 'a', 'b', 'c'], 2, (host) => {
      asked.push(host);
      if (host === 'c') release('late');
      return host === 'silent' ? silent : Promise.resolve(host);
    });
    assert.deepEqual(await all, ['late', 'a', 'b', 'c']);
    assert.deepEqual(asked, ['silent', 'a', 'b', 'c']);
  });
});
