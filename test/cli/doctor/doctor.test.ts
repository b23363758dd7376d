import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { runProgram } from '../../../src/cli/program';
import type { Finding } from '../../../src/cli/doctor/finding';
import { packageRoot } from '../../../src/base/package-root';
import { apart, apartOrNot } from '../../base/apart';
import { fakeTerminal } from '../fake-terminal';
import { COMMAND } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';
import { ALL_SOURCE_FACTS } from '../../../src/sources/registry';

const asRoot = { skip: process.getuid?.() === 0 ? false : 'takes rights away, which root alone can' };

/** Where the checkout is for root's eyes only, nobody else can run it. */
function cannotBeRead(): string | false {
  const words = [
    '--reuid',
    '65534',
    '--regid',
    '65534',
    '--clear-groups',
    '--',
    'test',
    '-r',
    join(packageRoot(), 'dist'),
  ];
  return spawnSync('setpriv', words).status === 0 ? false : 'others can not read this directory';
}

interface Answer {
  readonly schema: number;
  readonly ok: boolean;
  readonly checks: readonly Finding[];
  readonly self_test: { readonly ok: boolean; readonly problems: readonly string[] } | null;
}

describe('doctor', () => {
  const nothing = temporaryDirectory(0o755);
  const config = join(nothing, 'qmemacct.toml');
  writeFileSync(config, `state_dir = "${join(nothing, 'state')}"\nrun_dir = "${join(nothing, 'run')}"\n`);
  const words = ['doctor', '--config', config, '--prefix', join(nothing, 'opt')];

  it('looks at everything on this machine, and tells a cause and a fix for what is not well', async () => {
    const terminal = fakeTerminal();
    const status = await runProgram([...words, '--json', '--self-test'], '0', terminal);
    const answer = JSON.parse(terminal.output()) as Answer;
    assert.equal(answer.schema, 1);
    assert.equal(status, answer.ok ? 0 : 1);
    assert.deepEqual(
      [...new Set(answer.checks.map(({ area }) => area))],
      [
        ...[
          'host',
          'program',
          'kernel',
          'limits',
          'sources',
          'kernel events',
          'perf events',
          'cgroups',
          'scope',
          'tools',
          'state',
        ],
        ...['accounting', 'clock', 'Grid Engine', 'self-test'],
      ],
    );
    for (const { severity, fix, says } of answer.checks) {
      assert.notEqual(says, '');
      if (severity === 'problem' || severity === 'warning') assert.ok(fix !== null, says);
    }
    assert.match(answer.checks[0]?.says ?? '', /^execution host \(/);
    assert.match(answer.checks[1]?.says ?? '', /native modules load/);
    const sources = answer.checks.filter(({ area }) => area === 'sources').map(({ name }) => name);
    assert.deepEqual(sources.sort(), ['CPU budget', ...ALL_SOURCE_FACTS.map(({ name }) => name)].sort());
    // Nothing is installed there, so there is nothing to test.
    assert.equal(answer.self_test?.ok, false);
  });

  it('prints a line or two for each, and the verdict last', async () => {
    const terminal = fakeTerminal();
    await runProgram(words, '0', terminal);
    assert.match(terminal.output(), /\nprogram\n {2}ok {7}Node {14}v\d+/);
    assert.match(terminal.output().trimEnd().split('\n').at(-1) ?? '', /well|warning|problem/);
    for (const line of terminal.output().split('\n')) assert.ok(line.length <= 160, line);
  });

  /** doctor as a program of its own, with fewer rights. */
  function findingsWith(rights: readonly string[], toml = ''): readonly Finding[] {
    const own = join(temporaryDirectory(0o755), 'qmemacct.toml');
    writeFileSync(own, readFileSync(config, 'utf8') + toml);
    const [command, ...more] = [
      ...rights,
      process.execPath,
      COMMAND,
      'doctor',
      '--json',
      '--execution-host',
      '--config',
      own,
    ];
    const { stdout, stderr } = spawnSync(command, more, { encoding: 'utf8', cwd: '/', env: { PATH: '/usr/bin:/bin' } });
    assert.notEqual(stdout, '', stderr);
    return (JSON.parse(stdout) as Answer).checks;
  }
  const severities = (checks: readonly Finding[], wanted: string): string[] =>
    checks.filter(({ area }) => area === wanted).map(({ severity, name }) => `${severity} ${name}`);

  it('warns root who lacks CAP_NET_ADMIN that no peak can be proved', asRoot, () => {
    const checks = findingsWith(['setpriv', '--bounding-set', '-net_admin', '--']);
    // From Linux 6.6 on events can be had without, exit records can't.
    const [records] = checks.filter(({ name }) => name === 'exit records');
    assert.equal(records?.severity, 'warning');
    assert.match(records.says, /no CAP_NET_ADMIN; no peak can be proved/);
    assert.match(records.fix ?? '', /^give CAP_NET_ADMIN to execd/);
    assert.ok(!checks.some(({ area, severity }) => area === 'sources' && severity !== 'ok' && severity !== 'note'));
  });

  it('tells others what only root can try, as no fault', { ...asRoot, skip: asRoot.skip || cannotBeRead() }, () => {
    const checks = findingsWith(['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--']);
    for (const area of ['sources', 'kernel events', 'perf events', 'cgroups'])
      for (const line of severities(checks, area)) assert.match(line, /^(?:ok|note) /);
    assert.match(checks.find(({ name }) => name === 'exit records')?.fix ?? '', /^run this as root$/);
  });

  it('tells tables of sources that nobody understands', () => {
    const checks = findingsWith([], '[sources.loadavrg]\ninterval = 1\n[sources.loadavg]\ninterval = "1"\n');
    const faults = checks.filter(({ area, name }) => area === 'sources' && name === 'settings');
    assert.deepEqual(new Set(faults.map(({ severity }) => severity)), new Set(['problem']));
    assert.match(faults[0]?.says ?? '', /\[sources\.loadavrg\]: no such source/);
    assert.match(faults[1]?.says ?? '', /\[sources\.loadavg\] interval: a string where a number is wanted/);
  });

  describe('on a host without execd', apartOrNot, () => {
    const said = (before: string): Answer => {
      const top = temporaryDirectory();
      for (const name of ['sge_qmaster', 'sge_execd']) {
        copyFileSync('/bin/sleep', join(top, name));
        chmodSync(join(top, name), 0o755);
      }
      chmodSync(top, 0o755);
      writeFileSync(join(top, 'q.toml'), `accounting = "${top}/accounting.db"\ndeliver_as = "root"\n`);
      const script = `cd "$1"; ${before}\nPATH=/none exec "$2" "$3" --config "$1/q.toml" doctor --json --prefix "$1/opt"`;
      return JSON.parse(apart(script, [top, process.execPath, COMMAND], { SGE_ROOT: '/none' })) as Answer;
    };
    const until = (name: string): string => `until grep -qx ${name} /proc/$!/comm; do :; done`;
    const roleOf = ({ checks: [role] }: Answer): string => `${role?.severity ?? ''}: ${role?.says ?? ''}`;

    it('looks at nothing that only jobs need', () => {
      const answer = said(':');
      assert.match(roleOf(answer), /^note: no execution host: no sge_execd runs; no hooks are installed; Grid Engine /);
      for (const { area, name } of answer.checks)
        assert.ok(['host', 'program', 'accounting', 'clock', 'Grid Engine'].includes(area), `${area} ${name}`);
      assert.deepEqual(
        answer.checks.filter(
          ({ severity, area }) =>
            severity !== 'ok' && severity !== 'note' && area !== 'Grid Engine' && area !== 'clock',
        ),
        [],
      );
    });

    it('knows the master, and an execution host by its execd, not by what a user calls so', () => {
      assert.match(
        roleOf(said(`./sge_qmaster 600 & ${until('sge_qmaster')}`)),
        /^note: master host \(sge_qmaster is process \d+\), no ex/,
      );
      const execd = said(`./sge_execd 600 & ${until('sge_execd')}`);
      assert.match(roleOf(execd), /^ok: execution host \(sge_execd is process \d+\)$/);
      assert.ok(execd.checks.some(({ area }) => area === 'limits'));
      const user = 'setpriv --reuid 65534 --regid 65534 --clear-groups';
      assert.match(roleOf(said(`${user} ./sge_execd 600 & ${until('sge_execd')}`)), /^note: no execution host/);
    });
  });

  it('refuses settings that are none', async () => {
    const path = join(nothing, 'bad.toml');
    for (const [text, why] of [
      ['sources = 3', /"sources" is not a table/],
      ['[sources.loadavg', /not valid TOML/],
      ['[sources]\nloadavg = "often"', /"sources.loadavg" is not a table/],
    ] as const) {
      writeFileSync(path, text);
      const terminal = fakeTerminal();
      assert.equal(await runProgram(['doctor', '--config', path], '0', terminal), 2);
      assert.match(terminal.warnings(), why);
    }
  });
});
