import { existsSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { readText } from '../../sources/files';
import { findingsIn, type Finding } from './finding';

const { ok, note, warning } = findingsIn('kernel');

/** Checks what this kernel offers. Absence is no error: the record leaves the figure open or out. */
export function* checkKernel(procRoot = '/proc'): Generator<Finding> {
  const hidden = /hidepid=(?:[12]|invisible|noaccess)/.test(
    (readText(join(procRoot, 'mounts')) ?? '').split('\n').find((line) => line.split(' ')[2] === 'proc') ?? '',
  );
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
    yield warning('hidepid', '/proc hides processes: hooks as the job owner see that user only', 'use hooks as root');
}
