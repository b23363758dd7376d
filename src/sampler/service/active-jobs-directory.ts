import { readFileSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';

const shortName = (host: string): string => (host.split('.')[0] ?? '').toLowerCase();

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** `DIRECTORY/HOST`, however long the name that Grid Engine gives this host. */
function below(directory: string, host: string): string | null {
  try {
    const names = readdirSync(directory).filter((name) => shortName(name) === shortName(host));
    const exact = names.find((name) => name === host) ?? names[0];
    return exact === undefined ? null : join(directory, exact, 'active_jobs');
  } catch {
    return null;
  }
}

/** execd works in its spool directory; another host's, whose processes we may see, has another name. */
function ofExecd(host: string, procRoot: string): string | null {
  for (const pid of readdirSync(procRoot)) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      if (readFileSync(join(procRoot, pid, 'comm'), 'latin1').trim() !== 'sge_execd') continue;
      const spool = readlinkSync(join(procRoot, pid, 'cwd'));
      if (shortName(basename(spool)) === shortName(host)) return join(spool, 'active_jobs');
    } catch {
      // It has just ended.
    }
  }
  return null;
}

/**
 * Where this host's execd keeps a directory for each of its jobs: below the configured spool directory, or where execd
 * itself works; the path has no links in it. null: not known yet, since no execd runs.
 */
export function activeJobsDirectory(configured: string, host = hostname(), procRoot = '/proc'): string | null {
  const found = configured === '' ? ofExecd(host, procRoot) : below(configured, host);
  return found !== null && isDirectory(found) ? realpathSync(found) : null;
}
