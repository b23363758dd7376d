import { closeSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { packageVersion } from '../base/package-root';
import { EXIT } from './command';
import { processTerminal } from './terminal';
import { isChange, runProgram } from './program';

const { stdout, stderr } = process;

const words = process.argv.slice(2);
const terminals = [0, 1, 2].filter(isatty);

/** A reader that stops early (`| head`) is no error; a command that changes something goes on all the same. */
function leaveOnBrokenOutput({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE' && isChange(words)) return;
  if (code === 'EPIPE') process.exit();
  processTerminal.warn(`qmemacct: standard output: ${message}; what was written is not whole`);
  process.exit(EXIT.unavailable);
}

/**
 * On exit, Node restores the settings of terminals, and aborts with a core dump if one has vanished. So /dev/null takes
 * the place of a vanished terminal: it is opened under the lowest free descriptor, which is the one just closed.
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
// At the file size limit, let the write fail instead of ending the process.
process.on('SIGXFSZ', () => undefined);
stdout.on('error', leaveOnBrokenOutput);
// Warnings that can't be written must not stop the answer.
stderr.on('error', () => undefined);
void runProgram(words, packageVersion(), processTerminal).then((status) => {
  process.exitCode = status;
});
