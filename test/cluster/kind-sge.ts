import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAccounting } from './formats';
import type { CellKind } from './kind';

export const adminUser = 'sgeadmin';

/**
 * Where the hosts of every kind see the spool directories. The cells share one /proc, in which a host also finds the execd
 * of the host of the same name in another cell.
 */
export const spoolRoot = '/var/spool/gridengine';

const sgeRoot = '/var/lib/gridengine';
const binaries = '/usr/lib/gridengine';
const share = '/usr/share/gridengine';

const neededFiles = [
  ...['sge_qmaster', 'sge_execd', 'sge_shepherd', 'spoolinit', 'qsub', 'qconf'].map((name) => join(binaries, name)),
  join(share, 'scripts/init_cluster'),
  join(share, 'default-bootstrap'),
  sgeRoot,
  spoolRoot,
];

/** Son of Grid Engine as Debian packages it. */
export const sonOfGridEngine: CellKind = {
  name: 'sge8.1.9',
  dialect: 'sge8.1.9',
  sgeRoot,
  binaries,
  // Debian's scripts around the clients start forty processes each.
  path: [binaries],
  accounting: 'accounting',
  readAccounting: parseAccounting,
  wantsStaticEnv: false,
  tasksNameTheirSlots: true,
  failedAtLimit: '37',
  losesExitStatus: false,
  parallelEnvironment: { qsort_args: 'NONE' },
  obstacle: () => {
    const file = neededFiles.find((path) => !existsSync(path));
    if (file === undefined) return null;
    return `no ${file}: install Debian's packages gridengine-master gridengine-exec gridengine-client gridengine-common`;
  },
  writeFiles: (layout, hosts) => {
    for (const name of ['bin', 'lib', 'util', 'utilbin'])
      cpSync(join(sgeRoot, name), join(layout.root, name), { recursive: true, verbatimSymlinks: true });
    mkdirSync(layout.common, { recursive: true });
    // Debian's default is /usr/sbin, with a shell script around each program: half of the CPU time of a short job.
    const bootstrap = readFileSync(join(share, 'default-bootstrap'), 'utf8');
    writeFileSync(join(layout.common, 'bootstrap'), bootstrap.replace(/^binary_path .*/m, `binary_path ${binaries}`));
    const master = hosts.find(({ role }) => role === 'master');
    writeFileSync(join(layout.common, 'act_qmaster'), `${master?.name ?? ''}\n`);
    for (const name of ['qmaster/job_scripts', 'spooldb', 'execd'])
      mkdirSync(join(layout.spool, name), { recursive: true });
  },
  initialise: async (hosts) => {
    const init = [join(share, 'scripts/init_cluster'), sgeRoot, 'default', join(spoolRoot, 'spooldb'), adminUser];
    await hosts.check(hosts.master, init, { user: adminUser });
  },
};
