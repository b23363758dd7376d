import { realpathSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { hostLabel } from '../../gridengine/host-names';
import { untrusted } from '../../base/trusted-path';
import { daemons } from '../../gridengine/daemons';
import { gridEngineOwners } from '../../gridengine/owners';
import type { Settings } from '../../record/settings';
import { listNames } from '../../sources/files';

/** Where execd keeps its jobs' directories, or why that is not known. */
type ActiveJobs = { readonly directory: string } | { readonly unknown: string; readonly fix: string };

export interface Machine {
  readonly host: string;
  readonly procRoot: string;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** `DIRECTORY/HOST`, whether Grid Engine's name of this host has a domain or not; null: there is none. */
function below(directory: string, host: string): string | null {
  const names = listNames(directory).filter((name) => hostLabel(name) === hostLabel(host));
  const exact = names.find((name) => name === host) ?? names[0];
  return exact === undefined ? null : join(directory, exact);
}

/** execd's working directory is its spool directory; it tells this host's execd from others that are visible here. */
function ofExecd(owners: ReadonlySet<number>, { host, procRoot }: Machine): string | null {
  const execd = daemons(owners, procRoot).find(
    ({ name, directory }) =>
      name === 'sge_execd' && directory !== null && hostLabel(basename(directory)) === hostLabel(host),
  );
  return execd?.directory ?? null;
}

const HERE = (): Machine => ({ host: hostname(), procRoot: '/proc' });

/**
 * Where this host's execd keeps a directory for each of its jobs: below the configured spool directory, or below
 * execd's working directory; the path has no links in it. The files there are trusted as Grid Engine's, so nobody but
 * root and the admin user may be able to change them.
 */
export function activeJobsDirectory(
  { execd_spool_dir: configured, admin_user: adminUser }: Pick<Settings, 'execd_spool_dir' | 'admin_user'>,
  machine = HERE(),
): ActiveJobs {
  const owners = gridEngineOwners(adminUser, machine.procRoot);
  const spool = configured === '' ? ofExecd(owners, machine) : below(configured, machine.host);
  const path = spool === null ? null : join(spool, 'active_jobs');
  if (path === null || !isDirectory(path))
    return configured === ''
      ? { unknown: 'no execd runs that would show where it is', fix: 'start execd, or set execd_spool_dir' }
      : {
          unknown: `${configured} has no directory of this host with active_jobs in it`,
          fix: 'set execd_spool_dir to the value of "qconf -sconf", or leave it out',
        };
  const reason = untrusted(path, owners);
  if (reason === null) return { directory: realpathSync(path) };
  return {
    unknown: `${path}: ${reason}, and could forge jobs there`,
    fix: "take that permission away, or set admin_user where the directory is Grid Engine's admin user's",
  };
}
