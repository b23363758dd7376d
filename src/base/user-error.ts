interface ErrorDetails {
  /** What to do about it; left out: the problem says it all. */
  readonly hint?: string;
  /** Exit status of the command: 2 for a wrong call or configuration, 3 (default) for something unavailable. */
  readonly status?: number;
  readonly cause?: unknown;
}

/**
 * An error that the person at the terminal, or the reader of a log, can act on: its one line names the thing, what is
 * wrong with it, and what to do. Any other error that gets through is a bug.
 */
export class UserError extends Error {
  readonly hint: string;
  readonly status: number;

  constructor(problem: string, { hint = '', status = 3, cause }: ErrorDetails = {}) {
    super(hint === '' ? problem : `${problem}; ${hint}`, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.hint = hint;
    this.status = status;
  }
}

/** Node's advice to use an option of Node, which our commands do not have. */
const OPTION_OF_NODE = /; if the root CA is installed locally, try running Node\.js with --use-system-ca$/;

/** One line for any error. */
export function reasonOf(error: unknown): string {
  const [first = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return first.replace(OPTION_OF_NODE, '');
}
