import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../base/package-root';
import { processTerminal } from './terminal';
import { runProgram } from './program';

const { stdout, stderr } = process;

/** Who reads only the first lines (`| head`) is no error. */
function leaveQuietlyOnBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
}

function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
  return version;
}

stdout.on('error', leaveQuietlyOnBrokenPipe);
// Warnings that nobody reads must not stop the answer.
stderr.on('error', () => undefined);
void runProgram(process.argv.slice(2), packageVersion(), processTerminal).then((status) => {
  process.exitCode = status;
});
