import { UserError } from '../base/user-error';

/** What a command ends with. */
export const EXIT = { found: 0, nothing: 1, usage: 2, unavailable: 3 } as const;

/** An end of a command that the user can mend: the message says what, why and how, in one or two lines. */
export class CommandError extends UserError {
  constructor(message: string, status: number, options: ErrorOptions = {}) {
    super(message, { status, cause: options.cause });
  }
}

/** A command line that makes no sense. */
export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}
