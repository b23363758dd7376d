import { createInterface } from 'node:readline/promises';
import { usageError } from '../command-error';

interface Consent {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** Asks before something is changed; --yes answers. Throws a usage error where nobody can be asked. */
export async function confirmed(question: string, { yes }: Consent): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY) throw usageError('there is no terminal to ask on: look with --dry-run, then give --yes');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
