import { closeSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { packageVersion } from '../base/package-root';
import { EXIT } from './command';
import { processTerminal } from './terminal';
import { isChange, runProgram } from './program';

const { stdout, stderr } = process;

const words = process.argv.slice(2);
const terminals = [0, 1, 2].filter(isatty);

/** Who reads only the first lines (`| head`) is no error. */
function leaveOnBrokenOutput({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE' && isChange(words)) return;
  if (code === 'EPIPE') process.exit();
  processTerminal.warn(`qmemacct: standard output: ${message}; what was written is not whole`);
  process.exit(EXIT.unavailable);
}

/**
 * At its end Node gives terminals their settings back, and aborts, with a dump of its memory, where one has gone:
 * /dev/null takes its place, under the lowest number that is free.
 */
function forgetGoneTerminals(): void {
  for (const descriptor of terminals.filter((one) => !isatty(one))) {
    try {
      closeSync(descriptor);
      openSync('/dev/null', 'r+');
    } catch {
      // It was closed already.
    }
  }
}

process.on('exit', forgetGoneTerminals);
// A file size limit is an error of the write.
process.on('SIGXFSZ', () => undefined);
stdout.on('error', leaveOnBrokenOutput);
// Warnings that nobody reads must not stop the answer.
stderr.on('error', () => undefined);
void runProgram(words, packageVersion(), processTerminal).then((status) => {
  process.exitCode = status;
});
