import { join } from 'node:path';
import { packageRoot } from './package-root';

/** Every file that Node or a thread is started with, as a path below `src`. A release bundles each into one file. */
export const PROGRAMS = [
  'accounting/deliverer',
  'accounting/import/split-worker',
  'cli/demo/shepherd',
  'cli/doctor/load-natives',
  'cli/doctor/store-probe',
  'cli/import/follow-worker',
  'cli/job-mails/mail-worker',
  'cli/main',
  'export/part-worker',
  'sampler/flush',
  'sampler/handed-main',
  'sampler/helper/helper-main',
  'sampler/listener/main',
  'sampler/main',
  'sampler/service/main',
  'server/accounting/accounting-worker',
] as const;

/** The path of a program in an installation. */
export function programPath(program: (typeof PROGRAMS)[number], root = packageRoot()): string {
  return join(root, 'dist', 'src', `${program}.js`);
}

/** The whole environment of our programs: nothing from a hook's, which the job's owner controls; small in memory. */
export const PROGRAM_ENVIRONMENT = { PATH: '/usr/bin:/bin', MALLOC_ARENA_MAX: '1', UV_THREADPOOL_SIZE: '1' } as const;
