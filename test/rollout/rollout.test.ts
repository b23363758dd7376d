import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot, packageVersion } from '../../src/base/package-root';
import { checkJson, list, nullable, object, string, type Shape } from '../../src/base/shape';
import { DEFAULT_PREFIX } from '../../src/cli/install/places';
import { SETTINGS_FILE } from '../../src/record/settings';
import { builtProgram, makePackages, missingTools, packageIn, packagesObstacle, runTool } from '../support/packages';
import { temporaryDirectory } from '../support/temporary-directory';
import { until } from '../support/until';
import { clusterObstacle, upCell, type Cell } from '../cluster/cell';
import { envOptions, newAccounting, productOf, settingsOf, type Product } from '../cluster/product';
import { mib, gateFor } from '../cluster/site';

/** Rolls a release out over a cell as an admin does: with the Debian package, the manual's playbook and ssh. */

const NEWER = '99.1.2';

function obstacle(): string | null {
  const missing = missingTools('ansible-playbook', 'sshd', 'ssh', 'ssh-keygen', 'dpkg');
  return (
    clusterObstacle() ??
    packagesObstacle() ??
    (missing === null ? null : `${missing} (Debian: ansible-core openssh-server python3-apt)`)
  );
}

/** Makes a Debian package of the same program with a later version; returns its path. */
function newer(deb: string): string {
  const root = join(temporaryDirectory(), 'newer');
  runTool('dpkg-deb', '-R', deb, root);
  for (const [file, version] of [
    ['DEBIAN/control', /^Version: .*$/m],
    ['usr/lib/qmemacct/package.json', /"version": ".*"/],
  ] as const) {
    const text = readFileSync(join(root, file), 'utf8');
    const words = version.exec(text)?.[0] ?? assert.fail(`no version in ${file}`);
    writeFileSync(join(root, file), text.replace(words, words.replace(/\d[^"]*/, NEWER)));
  }
  const made = `${root}.deb`;
  runTool('dpkg-deb', '--root-owner-group', '-Zgzip', '-z1', '--build', root, made);
  return made;
}

/** Script that gives a host packages, root's home and timers apart from the other hosts' and the machine's. */
const OWN_SYSTEM = `set -e
  layer=/run/qmemacct/layer
  mkdir -p $layer /etc/cron.d /etc/tmpfiles.d /run/sshd
  mount -t tmpfs none $layer
  mkdir $layer/cell && mount --bind $SGE_ROOT $layer/cell
  for dir in /usr /opt /root /var/lib/dpkg /var/lib/apt /var/cache /var/log; do
    mkdir -p $layer$dir/upper $layer$dir/work
    mount -t overlay none -o lowerdir=$dir,upperdir=$layer$dir/upper,workdir=$layer$dir/work $dir
  done
  for dir in /etc/cron.d /etc/tmpfiles.d /var/tmp; do mount -t tmpfs none $dir; done
  mount --bind $layer/cell $SGE_ROOT`;

/** Lets root on every host log in to the others by ssh. */
async function openSsh(cell: Cell): Promise<void> {
  const keys = join(cell.stateDir, 'ssh');
  mkdirSync(keys, { mode: 0o700 });
  for (const name of ['host', 'root']) runTool('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', join(keys, name));
  const names = cell.hosts.map(({ name, address }) => `${name},${address}`).join(',');
  const hostKey = readFileSync(join(keys, 'host.pub'), 'utf8').split(' ').slice(0, 2).join(' ');
  writeFileSync(join(keys, 'known_hosts'), `${names} ${hostKey}\n`);
  const environment = Object.entries(cell.command(cell.master, ['true']).env).filter(([name]) =>
    /^SGE_|^PATH$/.test(name),
  );
  writeFileSync(
    join(keys, 'sshd_config'),
    [
      `HostKey ${keys}/host`,
      'PidFile none',
      'UsePAM no',
      'AuthorizedKeysFile .ssh/authorized_keys',
      `SetEnv ${environment.map(([name, value]) => `${name}=${value}`).join(' ')}`,
    ].join('\n'),
  );
  for (const { name, address } of cell.hosts) {
    const script = `umask 077; mkdir -p /root/.ssh && cd /root/.ssh && cp ${keys}/root id_ed25519 && cp ${keys}/root.pub authorized_keys &&
      cp ${keys}/known_hosts . && /usr/sbin/sshd -f ${keys}/sshd_config -o ListenAddress=${address} -E ${keys}/log.${name}`;
    await cell.check(name, script);
  }
}

/** How many tasks of the playbook changed something, by host. */
type Changes = Readonly<Record<string, number>>;

/** The manual's playbook with the cell's hosts and settings. */
class Playbook {
  private readonly directory: string;

  constructor(
    private readonly cell: Cell,
    settings: string,
  ) {
    this.directory = join(cell.stateDir, 'playbook');
    mkdirSync(this.directory);
    cpSync(join(packageRoot(), 'docs', 'examples', 'ansible.yml'), join(this.directory, 'ansible.yml'));
    writeFileSync(join(this.directory, 'qmemacct.toml'), settings);
    const nodes = cell.execHosts.join('\n');
    writeFileSync(
      join(this.directory, 'hosts'),
      `[qmemacct_nodes]\n${nodes}\n[qmemacct_admin]\n${cell.master}\n[all:vars]\nansible_python_interpreter=/usr/bin/python3\n`,
    );
  }

  /** Plays it with this Debian package. Fails if a task fails. */
  async play(deb: string): Promise<Changes> {
    const env = envOptions(this.cell).join(' ');
    const hookOptions = env === '' ? [] : ['-e', `hook_options='${env}'`];
    const words = [
      'ansible-playbook',
      '-u',
      'root',
      '-i',
      'hosts',
      '-e',
      `package=${deb}`,
      ...hookOptions,
      'ansible.yml',
    ];
    const { status, stdout, stderr } = await this.cell.on(this.cell.master, words, {
      cwd: this.directory,
      env: { ANSIBLE_NOCOLOR: '1', ANSIBLE_PIPELINING: '1' },
    });
    assert.equal(status, 0, `${stdout}\n${stderr}`);
    const recap = [...stdout.matchAll(/^(\S+) +: ok=\d+ +changed=(\d+) +unreachable=0 +failed=0 /gm)];
    assert.equal(recap.length, this.cell.hosts.length, stdout);
    return Object.fromEntries(recap.map(([, host = '', changed]) => [host, Number(changed)]));
  }
}

const succeeded = async (product: Product, host: string, ...words: readonly string[]): Promise<string> => {
  const { status, stdout, stderr } = await product.run(host, ...words);
  assert.equal(status, 0, `${words.join(' ')} on ${host}: ${stdout}${stderr}`);
  return stdout;
};

function checkedJson<T>(shape: Shape<T>, text: string): T {
  const read = checkJson(shape, text, 'the answer');
  return read.ok ? read.value : assert.fail(`${read.error}: ${text}`);
}

/** Installed versions on a host, the current one first. */
async function versions(cell: Cell, host: string): Promise<readonly string[]> {
  const list = await cell.check(host, `cd ${DEFAULT_PREFIX} && readlink current && ls -d [0-9]*`);
  return [...new Set(list.split('\n').filter((line) => line !== ''))].map((name) => name.replace(/-[0-9a-f]{10}$/, ''));
}

/** A cell with a release installed, and the playbook that installed it. */
interface Fleet {
  readonly cell: Cell;
  readonly product: Product;
  readonly playbook: Playbook;
}

/** Shell command that holds about 60 MB. */
const HOLD = 'x=$(head -c 60000000 /dev/zero | tr "\\0" x)';

const submit = ({ cell }: Fleet, host: string, script: string): Promise<string> =>
  cell.submit('gealice', ['-q', `all.q@${host}`, '-l', 'h_vmem=600M'], script);

const isSampled = ({ product }: Fleet, job: string): Promise<true> =>
  until(
    async () => (await product.currentRecords(job)).some(({ record }) => record.status === 'running'),
    `a heartbeat of job ${job}`,
  );

/** Installs one host by hand, which gives the settings for all, then all hosts by the playbook. */
async function rollOut(cell: Cell, deb: string): Promise<Fleet> {
  const accounting = newAccounting(cell);
  const product = productOf(cell, { prefix: DEFAULT_PREFIX, accounting }, ['/usr/bin/qmemacct']);
  const [first = ''] = cell.execHosts;
  await cell.check(first, ['dpkg', '-i', deb]);
  await succeeded(product, first, 'install', '--node', '--yes', '--accounting', accounting);
  const settings = await cell.check(first, ['cat', SETTINGS_FILE]);
  const playbook = new Playbook(cell, settingsOf(cell, settings));

  const changes = await playbook.play(deb);
  for (const host of cell.execHosts) assert.ok((changes[host] ?? 0) > 0, JSON.stringify(changes));
  assert.match((await cell.config()).get('prolog') ?? '', new RegExp(`${DEFAULT_PREFIX}/current/hooks/prolog`));
  await cell.waitForHookConfig();
  assert.deepEqual(await playbook.play(deb), Object.fromEntries(cell.hosts.map(({ name }) => [name, 0])));
  return { cell, product, playbook };
}

/** Asserts that `doctor --all` on the admin host gets an answer of every host, by ssh. */
async function askDoctors({ cell, product }: Fleet): Promise<void> {
  const { stdout } = await product.run(cell.master, 'doctor', '--all', '--json');
  const answer = object({ hosts: list(object({ host: string, silent: nullable(string) }), 10) });
  assert.deepEqual(
    checkedJson(answer, stdout).hosts.map(({ host, silent }) => [host, silent]),
    cell.execHosts.map((host) => [host, null]),
  );
}

/** Asserts that jobs that run during an upgrade, and a job after it, are measured to their end. */
async function upgrade(fleet: Fleet, deb: string, version: string): Promise<void> {
  const { cell, product, playbook } = fleet;
  const [first = '', second = ''] = cell.execHosts;
  const gate = gateFor(cell, 'gealice', 'go');
  const jobs = await Promise.all(cell.execHosts.map((host) => submit(fleet, host, `${HOLD}\n${gate.wait}`)));
  for (const job of jobs) await isSampled(fleet, job);
  const changes = await playbook.play(newer(deb));
  for (const host of cell.execHosts) {
    assert.ok((changes[host] ?? 0) > 0, JSON.stringify(changes));
    assert.deepEqual(await versions(cell, host), [NEWER, version]);
  }
  jobs.push(await submit(fleet, second, HOLD));
  gate.open();
  for (const job of jobs) {
    await cell.waitFinished(job);
    const [only, ...more] = await product.records(job);
    assert.equal(more.length, 0);
    assert.equal(only?.record.trust, 'root');
    assert.ok((only.record.peak_rss?.lower_bytes ?? 0) > mib(57), JSON.stringify(only.record.peak_rss));
  }
  // A host's version comes from the last sampler that delivered: from one of the newer version after another job.
  await product.records(await submit(fleet, second, HOLD));
  const answer = object({ nodes: list(object({ host: string, version: string }), 10) });
  await until(
    async () => {
      const { nodes } = checkedJson(answer, await succeeded(product, first, 'nodes', '--json'));
      return nodes.find(({ host }) => host === second)?.version === NEWER;
    },
    `version ${NEWER} of ${second}`,
    500,
  );
}

/** Asserts that a job that runs during the removal is measured to its end, and that the next job gets no record. */
async function remove(fleet: Fleet): Promise<void> {
  const { cell, product } = fleet;
  const [first = ''] = cell.execHosts;
  const gate = gateFor(cell, 'gealice', 'last');
  const last = await submit(fleet, first, `${HOLD}\n${gate.wait}`);
  await isSampled(fleet, last);
  await succeeded(product, cell.master, 'uninstall', '--yes');
  await cell.waitForHookConfig();
  for (const host of cell.execHosts) {
    await succeeded(product, host, 'uninstall', '--node', '--yes');
    await cell.check(host, ['dpkg', '-r', 'qmemacct']);
  }
  gate.open();
  await cell.waitFinished(last);
  assert.equal((await product.record(last)).status, 'finished');
  const after = await submit(fleet, first, 'exit 0');
  assert.equal((await cell.waitFinished(after))[0]?.exit_status, '0');
  assert.equal((await product.currentRecords(after)).length, 0);
}

describe('a release', { skip: obstacle() ?? false, timeout: 1_800_000 }, () => {
  it('is rolled out over a cell, upgraded under running jobs, and removed', async () => {
    const deb = packageIn(makePackages(builtProgram()), '.deb');
    const cell = await upCell({ waitMs: 600_000 });
    try {
      for (const { name } of cell.hosts) await cell.check(name, OWN_SYSTEM);
      await openSsh(cell);
      const fleet = await rollOut(cell, deb);
      await askDoctors(fleet);
      await upgrade(fleet, deb, packageVersion(packageRoot()));
      await remove(fleet);
    } finally {
      await cell.down();
    }
  });
});
