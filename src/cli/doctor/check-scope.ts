import { cpus } from 'node:os';
import { RunDirectory } from '../../sampler/job/run-directory';
import { activeJobsDirectory } from '../../sampler/service/active-jobs-directory';
import { servicePid } from '../../sampler/service/service-lock';
import type { Settings } from '../../record/settings';
import { plural } from '../../report/format/units';
import { SAMPLER } from '../install/services';
import { findingsIn, type Finding } from './finding';

const { ok, note, problem, warning } = findingsIn('scope');

/** From this many slots on, one service costs less than a sampler per job. */
const MANY_CPUS = 16;

const START = `run "qmemacct install --node", or "systemctl start ${SAMPLER.name}"`;

/** The number of runs that process `pid` samples. */
function jobsOf(pid: number, settings: Settings): number {
  const runs = [settings.state_dir, settings.run_dir].flatMap((directory) => RunDirectory.list(directory));
  return runs.filter((run) => run.samplerPid() === pid).length;
}

function checkService(settings: Settings): Finding {
  const pid = servicePid(settings);
  if (pid === null)
    return problem(
      'service',
      'does not run: each job has a sampler of its own, and tasks of jobs on other hosts have none',
      START,
    );
  const jobs = jobsOf(pid, settings);
  return ok('service', `process ${pid}, ${plural(jobs, 'job')}`);
}

function checkSpool(settings: Settings): Finding {
  const found = activeJobsDirectory(settings);
  if ('directory' in found) return ok('active_jobs', found.directory);
  return (settings.execd_spool_dir === '' ? warning : problem)('active_jobs', found.unknown, found.fix);
}

/** Checks the scope: one sampler per job or one service per host, which of them runs, and which suits this host. */
export function checkScope(settings: Settings, slots = cpus().length): Finding[] {
  if (settings.scope === 'node') return [checkService(settings), checkSpool(settings)];
  const stray = servicePid(settings);
  return [
    stray === null
      ? note(
          'scope',
          `"job": a sampler for each job, about 12 MiB each; tasks of parallel jobs (qrsh -inherit) are seen on their job's first host alone`,
          slots >= MANY_CPUS
            ? `scope = "node" costs less on a host of ${slots} CPUs, and sees those`
            : 'scope = "node" sees those',
        )
      : warning('service', `process ${stray} runs, though the scope is "job"`, 'run "qmemacct install --node"'),
  ];
}
