import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAccountingJson } from './formats';
import type { CellKind } from './kind';
import { adminUser, spoolRoot } from './kind-sge';

/** Environment variable with a directory of built trees, `ocs-VERSION-lx-amd64.tar.xz`. */
const VARIABLE = 'QMEMACCT_OCS';

const sgeRoot = '/opt/ocs';
const binaries = join(sgeRoot, 'bin/lx-amd64');
const template = 'util/install_modules/inst_template.conf';
const answers = 'install.conf';

/** Open Cluster Scheduler from the built tree whose archive's name matches. */
export function openClusterScheduler(name: string, archive: RegExp): CellKind {
  return {
    name,
    dialect: 'ocs',
    sgeRoot,
    binaries,
    path: [binaries, join(sgeRoot, 'utilbin/lx-amd64')],
    accounting: 'accounting.jsonl',
    readAccounting: parseAccountingJson,
    wantsStaticEnv: true,
    tasksNameTheirSlots: false,
    failedAtLimit: '100',
    losesExitStatus: false,
    parallelEnvironment: { ign_sreq_on_mhost: 'FALSE', master_forks_slaves: 'FALSE', daemon_forks_slaves: 'FALSE' },
    obstacle: () => {
      if (findArchive(archive) === null) return `${VARIABLE} names no directory with a build of ${name}`;
      return existsSync('/bin/busybox') ? null : "no /bin/busybox: install Debian's package busybox-static";
    },
    writeFiles: (layout, hosts) => {
      const words = ['-C', layout.root, '--strip-components=1', '--no-same-owner', '-xJf', findArchive(archive) ?? ''];
      const { status, stderr } = spawnSync('tar', words, { encoding: 'utf8' });
      if (status !== 0) throw new Error(`can't unpack ${name}: ${stderr}`);
      const text = readFileSync(join(layout.root, template), 'utf8');
      const master = hosts.find(({ role }) => role === 'master')?.name ?? '';
      writeFileSync(join(layout.root, answers), answer(text, master));
    },
    initialise: async (hosts) => {
      await hosts.check(hosts.master, ['./inst_sge', '-m', '-auto', join(sgeRoot, answers)], { cwd: sgeRoot });
    },
  };
}

function findArchive(pattern: RegExp): string | null {
  const directory = process.env[VARIABLE];
  if (directory === undefined || !existsSync(directory)) return null;
  const found = readdirSync(directory).find((file) => pattern.test(file));
  return found === undefined ? null : join(directory, found);
}

/** The installer's template with the answers for a cell. */
function answer(template: string, master: string): string {
  const values: Readonly<Record<string, string>> = {
    SGE_ROOT: sgeRoot,
    SGE_QMASTER_PORT: '6444',
    SGE_EXECD_PORT: '6445',
    SGE_CLUSTER_NAME: 'ocs',
    CELL_NAME: 'default',
    ADMIN_USER: adminUser,
    QMASTER_SPOOL_DIR: join(spoolRoot, 'qmaster'),
    EXECD_SPOOL_DIR: join(spoolRoot, 'execd'),
    EXECD_SPOOL_DIR_LOCAL: '',
    // configure() gives each execution host its own range.
    GID_RANGE: '40000-40001',
    ADMIN_HOST_LIST: master,
    SUBMIT_HOST_LIST: master,
    EXEC_HOST_LIST: '',
    SHADOW_HOST: '',
    EXEC_HOST_LIST_RM: '',
    SET_FILE_PERMS: 'true',
  };
  return template.replace(/^([A-Z_]+)=.*$/gm, (line, name: string) =>
    name in values ? `${name}="${values[name] ?? ''}"` : line,
  );
}
