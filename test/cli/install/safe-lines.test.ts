import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { loaderReason } from '../../../src/cli/install/elf';
import { checkRootHooks } from '../../../src/cli/doctor/check-root-hooks';
import { checkGridEngine } from '../../../src/cli/doctor/check-gridengine';
import { type NodeState, readNodeState } from '../../../src/cli/doctor/node-state';
import { runProgram } from '../../../src/cli/program';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeTerminal, type FakeTerminal } from '../fake-terminal';
import { DIRECTORY, globalText, ourLine, queueText } from './sites';

const BUSYBOX = '/bin/busybox';
const skip =
  process.getuid?.() !== 0
    ? 'root trusts what is its own'
    : !existsSync(BUSYBOX) || loaderReason(BUSYBOX) !== null
      ? 'no static busybox'
      : false;

interface Cluster {
  readonly directory: string;
  readonly config: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A cell of one host with nothing but a qconf, which says that it is this Grid Engine. */
function clusterOf(
  helpFirstLine: string,
  prolog = 'none',
  epilog = 'none',
  { queue = queueText(), hosts = 'ge1\n' } = {},
): Cluster {
  const directory = temporaryDirectory(0o755);
  const texts = { global: globalText(prolog, epilog), queue, hosts };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(directory, name), text);
  mkdirSync(join(directory, 'bin'));
  mkdirSync(join(directory, 'default', 'common'), { recursive: true });
  writeFileSync(join(directory, 'default', 'common', 'bootstrap'), '');
  writeFileSync(
    join(directory, 'bin', 'qconf'),
    [
      '#!/bin/sh',
      'case $1 in',
      `-help) echo '${helpFirstLine}' ;;`,
      `-sconf) cat '${directory}/global' ;;`,
      `-sq) cat '${directory}/queue' ;;`,
      '-sql) echo all.q ;;',
      `-sel | -shgrp_resolved) cat '${directory}/hosts' ;;`,
      '-shgrpl) echo @allhosts ;;',
      '-sconfl) ;;',
      '-sc) ;;',
      'esac',
      '',
    ].join('\n'),
    { mode: 0o755 },
  );
  const config = join(directory, 'qmemacct.toml');
  writeFileSync(config, `state_dir = "${directory}/state"\nrun_dir = "${directory}/run"\n`);
  const env = { PATH: `${directory}/bin:/usr/bin:/bin`, SGE_ROOT: directory, SGE_CELL: 'default', LANG: 'C.UTF-8' };
  return { directory, config, env };
}

async function install({ config, env }: Cluster, ...words: readonly string[]): Promise<[number, FakeTerminal]> {
  const terminal = fakeTerminal({ env });
  const status = await runProgram(['install', '--dry-run', '--config', config, ...words], '0', terminal);
  return [status, terminal];
}

describe('hooks as root', { skip }, () => {
  for (const help of ['OCS 9.0.2', 'UGE 8.6.6', 'GE 6.2u5', 'OGS/GE 2011.11p1', 'SGE 8.0.0', 'who knows'])
    it(`need a static env under ${help}, unless they are installed with --plain`, async () => {
      const cluster = clusterOf(help);
      for (const words of [[], ['--env', '/usr/bin/env'], ['--env', join(cluster.directory, 'env')]]) {
        const [status, terminal] = await install(cluster, ...words);
        assert.equal(status, 3);
        assert.match(terminal.warnings(), /linked dynamically|is not there/);
        assert.match(terminal.warnings(), /--env with a static one/);
        assert.equal(terminal.output(), '');
      }
      symlinkSync(BUSYBOX, join(cluster.directory, 'env'));
      const [status, terminal] = await install(cluster, '--env', join(cluster.directory, 'env'));
      assert.equal(status, 0, terminal.warnings());
      assert.ok(terminal.output().includes(`root@${cluster.directory}/env -i /bin/sh -p`));
      assert.equal((await install(cluster, '--plain'))[0], 0);
    });

  it('use /usr/bin/env under 8.1.9 and its fork, and no env that is missing', async () => {
    for (const help of ['SGE 8.1.9', 'SGE 8.1.10']) {
      const cluster = clusterOf(help);
      const [status, terminal] = await install(cluster);
      assert.equal(status, 0, terminal.warnings());
      assert.match(terminal.output(), /root@\/usr\/bin\/env -i/);
      assert.equal((await install(cluster, '--env', join(cluster.directory, 'nothing')))[0], 3);
    }
  });
});

describe('doctor on hooks that run as root', { skip }, () => {
  const state = ({ config }: Cluster): NodeState => readNodeState(config, null, '/opt/qmemacct');

  it('reports an env through which any owner of jobs can become root', async () => {
    const cluster = clusterOf('OCS 9.0.2', ourLine('prolog'), ourLine('epilog'));
    const findings = await checkGridEngine(state(cluster), cluster.env);
    const found = findings.find(({ name }) => name === 'root hooks');
    assert.equal(found?.severity, 'problem');
    assert.match(found.says, /become root.*\/usr\/bin\/env: is linked dynamically/);
    assert.match(found.fix ?? '', /--env/);
  });

  it('says whose jobs a chained hook without a user puts into the error state', async () => {
    const cluster = clusterOf('SGE 8.1.9', ourLine('prolog', '/site/a.sh'), ourLine('epilog', 'acct@/site/b.sh'));
    const findings = await checkGridEngine(state(cluster), cluster.env);
    const chained = findings
      .filter(({ name }) => name === 'chained hook')
      .map(({ says }) => says.includes('error state'));
    assert.deepEqual(chained, [true, false]);
  });

  it('reports an env that is missing on this host', async () => {
    const env = join(temporaryDirectory(), 'env');
    const lines = [ourLine('prolog'), ourLine('epilog')].map((line) => line.replace('/usr/bin/env', env));
    const cluster = clusterOf('SGE 8.1.9', lines[0], lines[1], { hosts: `${hostname()}\n` });
    mkdirSync(join(cluster.directory, 'opt', 'current', 'hooks'), { recursive: true });
    for (const stage of ['prolog', 'epilog'])
      writeFileSync(join(cluster.directory, 'opt', 'current', 'hooks', `${stage}.sh`), '');
    const moveHooksTo = (path: string): void => {
      const global = readFileSync(join(cluster.directory, 'global'), 'utf8');
      writeFileSync(join(cluster.directory, 'global'), global.replaceAll(DIRECTORY, path));
    };
    moveHooksTo(join(cluster.directory, 'opt', 'current', 'hooks'));
    const here = async (): Promise<string[]> => {
      const findings = await checkGridEngine(
        readNodeState(cluster.config, join(cluster.directory, 'opt'), ''),
        cluster.env,
      );
      return findings.filter(({ name }) => name === 'this host').map(({ severity, says }) => `${severity}: ${says}`);
    };
    assert.match(String(await here()), /^problem: \S+env, with which our lines start: missing, or no program; /);
    symlinkSync(BUSYBOX, env);
    assert.match(String(await here()), /^ok: /);
  });

  it('reports jobs of which only one hook is ours, wherever that is configured', async () => {
    const halves = async (...given: Parameters<typeof clusterOf>): Promise<string[]> => {
      const cluster = clusterOf(...given);
      const findings = await checkGridEngine(state(cluster), cluster.env);
      return findings.filter(({ severity }) => severity === 'problem').map(({ says }) => says);
    };
    const says = (stage: string): string[] => [`of jobs in queue all.q on ge1 only the ${stage} is ours`];
    const [prolog, epilog] = [ourLine('prolog'), ourLine('epilog')];
    assert.deepEqual(await halves('SGE 8.1.9', prolog, 'none'), says('prolog'));
    assert.deepEqual(await halves('SGE 8.1.9', 'none', 'none', { queue: queueText(prolog, 'NONE') }), says('prolog'));
    const other = queueText('NONE', `${epilog},[@allhosts=/site/epilog]`);
    assert.deepEqual(await halves('SGE 8.1.9', prolog, 'none', { queue: other }), says('prolog'));
    assert.deepEqual(await halves('SGE 8.1.9', 'none', epilog, { queue: queueText(prolog, 'NONE') }), []);
    assert.deepEqual(await halves('SGE 8.1.9', prolog, epilog), []);
  });

  it('accepts any env where Grid Engine keeps LD_AUDIT from hooks, and a static one elsewhere', async () => {
    const known = clusterOf('SGE 8.1.9', ourLine('prolog'), ourLine('epilog'));
    const findings = await checkGridEngine(state(known), known.env);
    assert.ok(!findings.some(({ name }) => name === 'root hooks'));
    const env = join(known.directory, 'env');
    symlinkSync(BUSYBOX, env);
    const [found] = checkRootHooks([env, env], { dialect: 'ocs', version: '9.0.2' });
    assert.equal(found?.severity, 'ok');
  });
});

describe('a configuration for another cell than the environment names', () => {
  it('is told by install and doctor', async () => {
    const cluster = clusterOf('SGE 8.1.9', ourLine('prolog'), ourLine('epilog'));
    const tell = async (cell: string): Promise<string[]> => {
      writeFileSync(cluster.config, `cell = "${cell}"\ncluster = "main"\n`);
      const state = readNodeState(cluster.config, null, '/opt/qmemacct');
      const [finding] = (await checkGridEngine(state, cluster.env)).filter(({ name }) => name === 'cell');
      const [, terminal] = await install(cluster, '--prefix', '/opt/other');
      return [finding?.says ?? '', terminal.warnings()];
    };
    const other = clusterOf('SGE 8.1.9').directory;
    for (const said of await tell(join(other, 'default')))
      assert.match(said, /SGE_CELL name .*default, but .*qmemacct\.toml is for .*jobs of both count in cluster "main"/);
    assert.deepEqual(await tell(join(cluster.directory, 'default')), ['', '']);
    symlinkSync(cluster.directory, join(other, 'link'));
    assert.deepEqual(await tell(join(other, 'link', 'default')), ['', ''], 'by a link');
  });
});
