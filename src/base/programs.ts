import { join } from 'node:path';
import { packageRoot } from './package-root';

/** Every file that Node is started with, or a thread of it, as paths below `src`. A release bundles each into one file. */
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

/** Where it lies in an installation. */
export function programPath(program: (typeof PROGRAMS)[number], root = packageRoot()): string {
  return join(root, 'dist', 'src', `${program}.js`);
}

/** All of the environment of a program of ours: nothing of a hook's, which the job's owner chooses; little memory. */
export const PROGRAM_ENVIRONMENT = { PATH: '/usr/bin:/bin', MALLOC_ARENA_MAX: '1', UV_THREADPOOL_SIZE: '1' } as const;
