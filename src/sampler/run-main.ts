import { reasonOf } from '../base/user-error';
import { warn } from '../base/log';

/**
 * How every process of the sampler begins and ends: with files for root alone, in no directory that could be unmounted,
 * with a file size limit as an error of the write and no signal; when `main` is through it exits, with 1 and a line in
 * the log where that failed.
 */
export function runMain(name: string, main: () => Promise<void>): void {
  process.umask(0o077);
  process.chdir('/');
  process.on('SIGXFSZ', () => undefined);
  main().then(
    () => process.exit(0),
    (error: unknown) => {
      warn(`${name}: ${reasonOf(error)}`);
      process.exit(1);
    },
  );
}

/** The machine goes down, or an admin ends us: what is known is kept for the sampler that goes on. */
export function onTermination(keep: () => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      try {
        keep();
      } finally {
        process.exit(0);
      }
    });
}
