import type { Terminal } from './terminal';

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
  /** Runs a command's action; what it resolves to becomes the exit status of the program. */
  readonly finish: (status: Promise<number>) => Promise<void>;
}
