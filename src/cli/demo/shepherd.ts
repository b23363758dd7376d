import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { childrenUsage } from '../../native/libc';
import { replaceFile } from '../../base/replace-file';
import { writeUsage } from '../run/private-state';

/**
 * Acts as Grid Engine's shepherd for one job of the demo: prolog, job, `usage`, epilog. Its working directory is
 * the job's spool directory, by which the hooks find their job.
 *
 *   node shepherd.js HOOKS-DIRECTORY JOB LIMIT-KIB|unlimited COMMAND
 */
const [hooks = '', job = '', limit = 'unlimited', command = ''] = process.argv.slice(2);
const spool = process.cwd();

function hook(name: string): void {
  const { status } = spawnSync('/usr/bin/env', ['-i', '/bin/sh', '-p', join(hooks, name), job, '0'], {
    stdio: 'inherit',
  });
  if (status !== 0) process.stderr.write(`${name} ended with status ${status ?? 'none'}\n`);
}

hook('prolog.sh');
const before = childrenUsage();
const startMs = Date.now();
const child = spawn('/bin/sh', ['-c', `ulimit -v ${limit}; ${command}`], { cwd: '/', stdio: 'ignore' });
replaceFile(join(spool, 'job_pid'), `${child.pid ?? 0}\n`, 0o600);
child.on('exit', (code, signal) => {
  const number = signal === null ? 0 : constants.signals[signal];
  const usage = childrenUsage();
  writeUsage(spool, {
    exitStatus: code ?? 128 + number,
    signal: number,
    startMs,
    endMs: Date.now(),
    utime: usage.utime - before.utime,
    stime: usage.stime - before.stime,
    maxrss: usage.maxrss,
    minorFaults: usage.minorFaults - before.minorFaults,
  });
  hook('epilog.sh');
});
