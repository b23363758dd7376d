import type { Command } from 'commander';
import { UserError } from '../base/user-error';
import type { LiveSources } from './live/sources';
import type { Terminal } from './terminal';
import type { WatchTty } from './watch/tty';

/** Options that every command knows. */
export interface GlobalOptions {
  readonly config: string;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly debug?: boolean;
  /** false: --no-color. */
  readonly color: boolean;
}

/** What a command is registered with. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** The program's version. */
  readonly version: string;
  /** Stand-ins for the real parts, for tests. */
  readonly live?: LiveParts;
  /** Waits for a command's action, whose result becomes the exit status of the program. */
  readonly finish: (status: Promise<number>) => Promise<void>;
}

/** What the live commands need from outside, besides the terminal. */
export interface LiveParts {
  readonly sources?: LiveSources;
  readonly tty?: WatchTty;
}

/** Makes an action for commander from a function of the arguments (`Words`), all options, and the terminal. */
export function commandAction<Options extends GlobalOptions, Words extends readonly unknown[] = []>(
  { finish, terminal }: CommandContext,
  act: (...given: [...Words, Options, Terminal]) => Promise<number>,
): (...given: [...Words, Partial<Options>, Command]) => Promise<void> {
  return (...given) => {
    const words = given.slice(0, -2) as unknown as Words;
    const command = given.at(-1) as Command;
    return finish(act(...words, command.optsWithGlobals<Options>(), terminal));
  };
}

/** The exit statuses of commands. */
export const EXIT = { found: 0, nothing: 1, usage: 2, unavailable: 3, notYet: 4 } as const;

/** A failure that the user can fix: the message names what failed, why, and the fix, in one or two lines. */
export class CommandError extends UserError {
  constructor(message: string, status: number, options: ErrorOptions = {}) {
    super(message, { status, cause: options.cause });
  }
}

/** The error for an invalid command line. */
export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}
