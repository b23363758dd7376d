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

const asRoot = { skip: process.getuid?.() === 0 ? false : 'only root can take rights away' };

/** A reason to skip where only root can read the checkout, and nobody else can run it. */
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
  return spawnSync('setpriv', words).status === 0 ? false : 'only root can read this checkout';
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

  it('looks at everything on this machine, and gives a fix for each problem and warning', async () => {
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
    // Nothing is installed below that prefix: there is nothing to test.
    assert.equal(answer.self_test?.ok, false);
  });

  it('prints lines of at most 160 characters, and the verdict last', async () => {
    const terminal = fakeTerminal();
    await runProgram(words, '0', terminal);
    assert.match(terminal.output(), /\nprogram\n {2}ok {7}Node {14}v\d+/);
    assert.match(terminal.output().trimEnd().split('\n').at(-1) ?? '', /well|warning|problem/);
    for (const line of terminal.output().split('\n')) assert.ok(line.length <= 160, line);
  });

  /** Runs doctor as a process of its own, behind words that take rights away. */
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

  it('warns root without CAP_NET_ADMIN that no peak can be proved', asRoot, () => {
    const checks = findingsWith(['setpriv', '--bounding-set', '-net_admin', '--']);
    // From Linux 6.6 on, events need no CAP_NET_ADMIN; exit records still do.
    const [records] = checks.filter(({ name }) => name === 'exit records');
    assert.equal(records?.severity, 'warning');
    assert.match(records.says, /no CAP_NET_ADMIN; no peak can be proved/);
    assert.match(records.fix ?? '', /^give CAP_NET_ADMIN to execd/);
    assert.ok(!checks.some(({ area, severity }) => area === 'sources' && severity !== 'ok' && severity !== 'note'));
  });

  it('warns no other user of what only root can try', { ...asRoot, skip: asRoot.skip || cannotBeRead() }, () => {
    const checks = findingsWith(['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--']);
    for (const area of ['sources', 'kernel events', 'perf events', 'cgroups'])
      for (const line of severities(checks, area)) assert.match(line, /^(?:ok|note) /);
    assert.match(checks.find(({ name }) => name === 'exit records')?.fix ?? '', /^run this as root$/);
  });

  it('reports unknown sources and wrong values in the tables of sources', () => {
    const checks = findingsWith([], '[sources.loadavrg]\ninterval = 1\n[sources.loadavg]\ninterval = "1"\n');
    const faults = checks.filter(({ area, name }) => area === 'sources' && name === 'settings');
    assert.deepEqual(new Set(faults.map(({ severity }) => severity)), new Set(['problem']));
    assert.match(faults[0]?.says ?? '', /\[sources\.loadavrg\]: no such source/);
    assert.match(faults[1]?.says ?? '', /\[sources\.loadavg\] interval: a string where a number is wanted/);
  });

  describe('among the processes of a host', apartOrNot, () => {
    /** The answer of doctor while the processes run that this line of shell starts. */
    const answerBeside = (before: string): Answer => {
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

    it('looks at nothing that only jobs need where no execd runs', () => {
      const answer = answerBeside(':');
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

    it("knows a master host, and an execution host by root's execd, not by a user's program of that name", () => {
      assert.match(
        roleOf(answerBeside(`./sge_qmaster 600 & ${until('sge_qmaster')}`)),
        /^note: master host \(sge_qmaster is process \d+\), no ex/,
      );
      const execd = answerBeside(`./sge_execd 600 & ${until('sge_execd')}`);
      assert.match(roleOf(execd), /^ok: execution host \(sge_execd is process \d+\)$/);
      assert.ok(execd.checks.some(({ area }) => area === 'limits'));
      const user = 'setpriv --reuid 65534 --regid 65534 --clear-groups';
      assert.match(roleOf(answerBeside(`${user} ./sge_execd 600 & ${until('sge_execd')}`)), /^note: no execution host/);
    });
  });

  it('ends with 2 on a configuration that is not valid', async () => {
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
