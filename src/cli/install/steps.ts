import { createInterface } from 'node:readline/promises';
import { usageError } from '../command';

/** One thing that an installation does, said before it is done. */
export interface Step {
  readonly says: string;
  /** Does it; what it returns is a warning. */
  readonly apply: () => string | null | Promise<string | null>;
}

/** A step that either works or throws. */
export function step(says: string, apply: () => void): Step {
  return {
    says,
    apply: () => {
      apply();
      return null;
    },
  };
}

/** Asks before something is changed; --yes answers. Throws a usage error where nobody can be asked. */
export async function confirmed(question: string, { yes }: { readonly yes?: boolean }): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY) throw usageError('there is no terminal to ask on: look with --dry-run, then give --yes');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
