import { readlinkSync, realpathSync } from 'node:fs';
import { recogniseHookCommand } from '../../gridengine/our-hook';
import { readSpoolConfigLines } from '../../gridengine/spool-config-lines';
import { bootId } from '../../sources/proc/clock';
import { readJobPid, trustedSpoolFile } from '../job/job-description';
import { startTicksOf } from '../job/pid-file';
import type { RunDescription } from '../job/run-description';
import type { SpoolEntry } from './spool-watch';

/**
 * What to do about a job for which execd has a directory: follow it as `run`; `wait` for more files (or for its own
 * prolog, which makes a run directory); or nothing, as it is `over`.
 */
export type Adoption = { readonly run: RunDescription } | 'wait' | 'over';

const isOurs = (value: string | undefined): boolean => {
  const hook = value === undefined ? null : recogniseHookCommand(value);
  return hook?.privileged === true;
};

function worksIn(pid: number, directory: string, procRoot: string): boolean {
  try {
    return readlinkSync(`${procRoot}/${pid}/cwd`) === realpathSync(directory);
  } catch {
    return false;
  }
}

/** Decides by the spool directory alone. */
export function adoptable(entry: SpoolEntry, procRoot = '/proc'): Adoption {
  const pid = Number.parseInt(trustedSpoolFile(entry.path, 'pid') ?? '', 10);
  if (!Number.isSafeInteger(pid) || pid < 2) return 'wait';
  const start = startTicksOf(pid, procRoot);
  if (start === null || !worksIn(pid, entry.path, procRoot)) return 'over';
  const { values, ambiguous } = readSpoolConfigLines(trustedSpoolFile(entry.path, 'config') ?? '');
  const isForged = ambiguous.length > 0;
  const config: typeof values = isForged ? new Map() : values;
  // Its prolog knows things that we don't (the limits that it was under), and makes the job's cgroup.
  const mayHaveProlog = entry.peTask === null && (isForged || isOurs(config.get('prolog')));
  if (mayHaveProlog && readJobPid(entry.path) === null) return 'wait';
  const task = config.get('ja_task_id');
  return {
    run: {
      job: entry.job,
      task: entry.task === 1 && (task === undefined || task === '0') ? 0 : entry.task,
      spool: entry.path,
      shepherdPid: pid,
      shepherdStart: start,
      boot: bootId(procRoot),
      hooks: 'root',
      memory: 'full',
      reason: '',
      addressSpaceKib: null,
      attached: false,
      peTask: entry.peTask,
      ends: entry.peTask === null && isOurs(config.get('epilog')) ? 'epilog' : 'usage',
    },
  };
}
