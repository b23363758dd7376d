import { existsSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { readText } from '../../sources/files';
import { findingsIn, type Finding } from './finding';

const { ok, note, warning } = findingsIn('kernel');

/** Checks what this kernel offers. Absence is no error: the record leaves the figure open or out. */
export function* checkKernel(procRoot = '/proc'): Generator<Finding> {
  const mounts = (readText(join(procRoot, 'mounts')) ?? '').split('\n').filter((line) => line.includes(' /proc proc '));
  // The last one is in force.
  const hidden = /hidepid=(?!0|off)/.test(mounts.at(-1) ?? '');
  const has = (path: string): boolean => existsSync(join(procRoot, path));
  yield ok('version', release());
  if (has('self/task') && has('thread-self/children'))
    yield ok('process tree', 'the kernel lists children (PROC_CHILDREN)');
  else yield note('process tree', 'no lists of children (PROC_CHILDREN): all of /proc is read at each sample instead');
  if (has('self/smaps_rollup')) yield ok('smaps_rollup', 'present');
  else yield note('smaps_rollup', 'absent (before 4.14): no shared memory apportioned');
  if (has('self/io')) yield ok('process I/O', 'counted (TASK_IO_ACCOUNTING)');
  else
    yield warning('process I/O', 'not counted by this kernel: no I/O figures', 'use a kernel with TASK_IO_ACCOUNTING');
  if (hidden)
    yield warning(
      'hidepid',
      "/proc hides root's processes from users: hooks that run as the job's owner can't tell which job it is, and measure nothing",
      'use hooks as root',
    );
}
