import { createInterface } from 'node:readline/promises';
import { usageError } from '../command';

/** One step of an installation; `says` is shown before the step is applied. */
export interface Step {
  readonly says: string;
  /** Applies the step; returns a warning, or null. */
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

/** Asks before a change; --yes answers for the user. Throws a usage error if there is no terminal to ask on. */
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
