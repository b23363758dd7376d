import { listenerPaths } from '../../../src/sampler/listener/directory';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { askListener, type ListenerAnswer } from '../../../src/cli/doctor/ask-listener';
import { checkKernelEvents, listenerFinding, proofFindings } from '../../../src/cli/doctor/check-kernel-events';
import type { Finding } from '../../../src/cli/doctor/finding';
import { connectListener } from '../../../src/sampler/listener/client';
import { encodeReply } from '../../../src/sampler/listener/protocol';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { NAMESPACE_FIX, ROOT_FIX } from '../../../src/sources/events/kernel-events';
import type { KernelEventsProof } from '../../../src/sources/events/prove-kernel-events';
import { isUnavailable, unavailable } from '../../../src/sources/source';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { noKernelEvents } from '../../support/kernel-events';
import { answering } from '../../support/listening';
import { temporaryDirectory } from '../../support/temporary-directory';
import { PATIENCE_MS, until } from '../../support/until';

const briefly = (findings: readonly Finding[]): string[] =>
  findings.map(({ severity, name, says, fix }) => `${severity} ${name}: ${says}${fix === null ? '' : ` > ${fix}`}`);

const ALL = { fork: true, exec: true, exit: true, record: true };
const NONE = { fork: false, exec: false, exit: false, record: false };
const HEARD: KernelEventsProof = {
  processEvents: 'arrived',
  exitRecords: 'arrived',
  arrived: ALL,
  delayAccounting: 'on',
};
const denied = (what: string) => unavailable(`${what}: no CAP_NET_ADMIN`, ROOT_FIX);
const DENIED: KernelEventsProof = {
  processEvents: denied('process events'),
  exitRecords: denied('exit records'),
  arrived: NONE,
  delayAccounting: unavailable('delay accounting is off', 'sysctl kernel.task_delayacct=1'),
};

describe("the proof of the kernel's events", () => {
  it('has a line each for process events, exit records and delay accounting', () => {
    assert.deepEqual(briefly(proofFindings(HEARD, true)), [
      'ok process events: fork, exec and exit of an own child arrived',
      'ok exit records: the record of an own child arrived',
      'ok delay accounting: on',
    ]);
  });

  it('is a warning with a fix for root without CAP_NET_ADMIN, and a note for other users', () => {
    const asRoot = proofFindings(DENIED, true);
    assert.deepEqual(
      asRoot.map(({ severity }) => severity),
      ['warning', 'warning', 'note'],
    );
    assert.match(asRoot[0]?.says ?? '', /^unavailable: process events: no CAP_NET_ADMIN; no peak can be proved$/);
    assert.match(asRoot[0]?.fix ?? '', /^give CAP_NET_ADMIN to execd/);
    assert.match(asRoot[2]?.fix ?? '', /^sysctl kernel\.task_delayacct=1 .* boot with delayacct$/);
    const others = proofFindings(DENIED, false);
    assert.deepEqual(new Set(others.map(({ severity }) => severity)), new Set(['note']));
    assert.equal(others[0]?.fix, 'run this as root');
  });

  it('says which events arrived where not all did', () => {
    const silence = unavailable('process events: nothing came, as in another network namespace', NAMESPACE_FIX);
    const [partly] = proofFindings({ ...HEARD, processEvents: silence, arrived: { ...ALL, exit: false } }, true);
    assert.equal(partly?.severity, 'warning');
    assert.match(partly.says, /nothing came.* \(fork, exec arrived, exit did not\); no peak/);
    assert.match(partly.fix ?? '', /initial_network_namespace/);
    const records = unavailable('exit records: the kernel has no taskstats (CONFIG_TASKSTATS)');
    const [, none] = proofFindings({ ...HEARD, exitRecords: records }, true);
    // Nothing can be done about this kernel.
    assert.deepEqual([none?.severity, none?.fix], ['note', null]);
  });
});

describe('askListener', () => {
  it('returns the hello of the listener, which may come in pieces', async (t) => {
    const hello = { kind: 'hello' as const, events: null, records: 'no CAP_NET_ADMIN', stays: true };
    const path = await answering(t, (socket) => {
      const text = encodeReply(hello);
      socket.write(text.slice(0, 5));
      setTimeout(() => socket.write(text.slice(5)), 20);
    });
    assert.deepEqual(await askListener(path, PATIENCE_MS), hello);
  });

  it('does not wait for a silent listener, and believes nothing but a hello', async (t) => {
    const silent = await answering(t, () => undefined);
    const begun = performance.now();
    assert.deepEqual(await askListener(silent, 100), { kind: 'silent', why: 'no answer within 0.1 s' });
    assert.ok(performance.now() - begun < 30_000);
    for (const text of [
      'nonsense\n',
      '{"kind":"hello"}\n',
      '{"kind":"hello","events":1,"records":null}\n',
      '["f"]\n',
    ]) {
      const path = await answering(t, (socket) => socket.write(text));
      const answer = await askListener(path, PATIENCE_MS);
      assert.match(answer.kind === 'silent' ? answer.why : answer.kind, /does not answer as a listener/, text);
    }
    const short = await answering(t, (socket) => socket.end());
    assert.match(JSON.stringify(await askListener(short, PATIENCE_MS)), /closed the connection/);
    const endless = await answering(t, (socket) => {
      const more = (): void => {
        while (!socket.destroyed && socket.write('x'.repeat(65536)));
      };
      socket.on('drain', more);
      more();
    });
    assert.equal((await askListener(endless, 200)).kind, 'silent');
  });

  it('finds no listener where its path is missing or is no socket', async () => {
    const top = temporaryDirectory();
    assert.equal((await askListener(join(top, 'nothing'))).kind, 'none');
    writeFileSync(join(top, 'file'), '');
    assert.equal((await askListener(join(top, 'file'))).kind, 'none');
    assert.equal((await askListener(join(top, 'file', 'socket'))).kind, 'none');
  });
});

/** An installed node, where no listener runs. */
const INSTALLED_NODE = {
  settings: { ...DEFAULT_SETTINGS, run_dir: '/nowhere/qmemacct' },
  settingsPath: '/x',
  isRoot: true,
  version: '1-0',
};

describe('the listener of a node', () => {
  const finding = (answer: ListenerAnswer): string => briefly([listenerFinding(answer, INSTALLED_NODE)])[0] ?? '';

  it('is a warning where no peak of the next job can be proved', () => {
    assert.match(finding({ kind: 'none' }), /^warning listener: none runs: .* not proved > .*install --node/);
    assert.match(
      briefly([listenerFinding({ kind: 'none' }, { ...INSTALLED_NODE, version: null })])[0] ?? '',
      /^note listener: none runs: "qmemacct install --node" starts it$/,
    );
    const shortLinger = { ...INSTALLED_NODE, settings: { ...INSTALLED_NODE.settings, listener_linger: 60 } };
    assert.match(
      briefly([listenerFinding({ kind: 'none' }, shortLinger)])[0] ?? '',
      /^note listener: none runs now: .* stays 60 s after the last one, .* > leave listener_linger out/,
    );
    assert.match(finding({ kind: 'denied' }), /^note listener: only root can ask it > run this as root$/);
    assert.match(
      finding({ kind: 'silent', why: 'x' }),
      /^warning listener: .*\/listener\/socket does not answer: x; .* > /,
    );
    const seen = { kind: 'hello', events: null, records: null } as const;
    assert.match(finding({ ...seen, stays: true }), /^ok listener: runs also between jobs, and receives/);
    assert.match(finding({ ...seen, stays: false }), /^warning listener: runs under the limits of a job .* > run "q/);
    assert.match(
      briefly([listenerFinding({ ...seen, stays: false }, shortLinger)])[0] ?? '',
      /^ok listener: runs, and receives events and exit records$/,
    );
    assert.match(
      finding({ kind: 'hello', events: 'no CAP_NET_ADMIN', records: 'no CAP_NET_ADMIN', stays: false }),
      /^warning listener: runs, but does not get all events: no CAP_NET_ADMIN; no peak can be proved > give CAP_NET_ADMIN/,
    );
    const elsewhere =
      "process events and exit records: in another network namespace; can't enter /proc/1/ns/net (EACCES)";
    assert.match(
      finding({ kind: 'hello', events: elsewhere, records: elsewhere, stays: true }),
      /^warning listener: .*\(EACCES\); no peak can be proved > set initial_network_namespace/,
    );
    const never = 'process events: the kernel does not answer (no CONFIG_PROC_EVENTS)';
    const { fix } = listenerFinding({ kind: 'hello', events: never, records: null, stays: true }, shortLinger);
    assert.equal(fix, null);
  });

  it('is not asked, and no event is tried, when it is switched off', async () => {
    const never = (): never => assert.fail('asked');
    const settings = { ...DEFAULT_SETTINGS, listener: false };
    const { findings, taskstats } = await checkKernelEvents(
      { settings, settingsPath: '/x', isRoot: true, version: null },
      never,
      never,
    );
    const [listener, kernel, ...more] = briefly(findings);
    assert.equal(listener, 'note listener: switched off: no peak can be proved > set listener = true in /x');
    assert.match(kernel ?? '', /^note taskstats: (?:present|not seen)$/);
    assert.deepEqual(more, []);
    assert.ok(isUnavailable(taskstats));
  });

  it('is a warning where the path of its socket is too long', async () => {
    const settings = { ...DEFAULT_SETTINGS, run_dir: `/run/${'x'.repeat(100)}` };
    const { findings } = await checkKernelEvents(
      { settings, settingsPath: '/x', isRoot: true, version: null },
      () => Promise.resolve(HEARD),
      () => Promise.resolve({ kind: 'none' }),
    );
    assert.match(
      briefly(findings)[3] ?? '',
      /^warning listener: .* has 121 bytes, .* > choose a shorter run_dir in \/x$/,
    );
  });

  it('is checked with the events of the network namespace of the settings', async () => {
    const asked: (string | null)[] = [];
    for (const namespace of ['', '/run/netns/first'])
      await checkKernelEvents(
        {
          settings: { ...DEFAULT_SETTINGS, initial_network_namespace: namespace },
          settingsPath: '/x',
          isRoot: true,
          version: null,
        },
        (path) => {
          asked.push(path);
          return Promise.resolve(HEARD);
        },
        () => Promise.resolve({ kind: 'none' }),
      );
    assert.deepEqual(asked, [null, '/run/netns/first']);
    const { taskstats } = await checkKernelEvents(
      { settings: DEFAULT_SETTINGS, settingsPath: '/x', isRoot: true, version: null },
      () => Promise.resolve(DENIED),
      () => Promise.resolve({ kind: 'none' }),
    );
    assert.ok(isUnavailable(taskstats));
    assert.equal(taskstats.unavailable, 'process events: no CAP_NET_ADMIN');
    assert.match(taskstats.fix ?? '', /^give CAP_NET_ADMIN to execd/);
  });
});

const obstacle = noKernelEvents(DEFAULT_SETTINGS.initial_network_namespace);

describe('checkKernelEvents on this machine', { skip: obstacle ?? false }, () => {
  it('hears a child process, and finds the listener while one runs', async () => {
    const top = temporaryDirectory();
    const settings: Settings = { ...DEFAULT_SETTINGS, run_dir: join(top, 'run'), listener_linger: 0 };
    const settingsPath = join(top, 'qmemacct.toml');
    writeFileSync(settingsPath, `run_dir = "${settings.run_dir}"\nlistener_linger = 0\n`);
    mkdirSync(settings.run_dir);
    const check = async (): Promise<string[]> =>
      briefly((await checkKernelEvents({ settings, settingsPath, isRoot: true, version: null })).findings);
    const before = await check();
    assert.match(before[0] ?? '', /^ok process events/);
    assert.match(before[1] ?? '', /^ok exit records/);
    assert.match(before[3] ?? '', /^note listener: none runs/);
    const ignore = { take: () => undefined, lost: () => undefined };
    const link = await until(() => connectListener(settingsPath, settings, ignore), 'a listener');
    await until(async () => /^ok listener: process \d+ runs/.test((await check())[3] ?? ''), 'its answer');
    link.close();
    await until(() => !existsSync(listenerPaths(settings).socket), 'the end of the listener');
    assert.match((await check())[3] ?? '', /^note listener: none runs/);
  });
});
