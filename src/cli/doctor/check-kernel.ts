import { existsSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { readText } from '../../sources/files';
import { findingsIn, type Finding } from './finding';

const { ok, note, warning } = findingsIn('kernel');

/** Checks what this kernel offers. Absence is no error: the record leaves the figure open or out. */
export function checkKernel(procRoot = '/proc'): Finding[] {
  const hidden = /hidepid=(?:[12]|invisible|noaccess)/.test(
    (readText(join(procRoot, 'mounts')) ?? '').split('\n').find((line) => line.split(' ')[2] === 'proc') ?? '',
  );
  return [
    ok('version', release()),
    existsSync(join(procRoot, 'self/task')) && existsSync(join(procRoot, 'thread-self/children'))
      ? ok('process tree', 'the kernel lists children (PROC_CHILDREN)')
      : note('process tree', 'no lists of children (PROC_CHILDREN): all of /proc is read at each sample instead'),
    existsSync(join(procRoot, 'self/smaps_rollup'))
      ? ok('smaps_rollup', 'present')
      : note('smaps_rollup', 'absent (before 4.14): no shared memory apportioned'),
    existsSync(join(procRoot, 'self/io'))
      ? ok('process I/O', 'counted (TASK_IO_ACCOUNTING)')
      : warning('process I/O', 'not counted by this kernel: no I/O figures', 'use a kernel with TASK_IO_ACCOUNTING'),
    ...(hidden
      ? [warning('hidepid', '/proc hides processes: hooks as the job owner see that user only', 'use hooks as root')]
      : []),
  ];
}
