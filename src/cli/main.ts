import { packageVersion } from '../base/package-root';
import { EXIT } from './command';
import { processTerminal } from './terminal';
import { isChange, runProgram } from './program';

const { stdout, stderr } = process;

const words = process.argv.slice(2);

/** Who reads only the first lines (`| head`) is no error. */
function leaveOnBrokenOutput({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE' && isChange(words)) return;
  if (code === 'EPIPE') process.exit();
  processTerminal.warn(`qmemacct: standard output: ${message}; what was written is not whole`);
  process.exit(EXIT.unavailable);
}

stdout.on('error', leaveOnBrokenOutput);
// Warnings that nobody reads must not stop the answer.
stderr.on('error', () => undefined);
void runProgram(words, packageVersion(), processTerminal).then((status) => {
  process.exitCode = status;
});
