import { reasonOf } from '../base/user-error';
import { warn } from '../base/log';

/**
 * Begins and ends every process of the sampler: new files are for their owner alone, the working directory is one that
 * is never unmounted, and a write past the file size limit is an error, not a signal. When `main` is done, the process
 * exits; if `main` failed, with status 1 and a line in the log.
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

/** When the machine goes down, or an admin ends us: calls `keep`, to save what the next sampler needs, and exits. */
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
