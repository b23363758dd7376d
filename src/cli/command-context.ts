import type { LiveSources } from './live-sources';
import type { Terminal } from './terminal';
import type { WatchTty } from './watch/watch-tty';

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
  /** Of the program. */
  readonly version: string;
  /** In place of the real ones. */
  readonly live?: LiveParts;
  /** Runs a command's action; what it resolves to becomes the exit status of the program. */
  readonly finish: (status: Promise<number>) => Promise<void>;
}

/** What the live commands need of the world beside the terminal. */
export interface LiveParts {
  readonly sources?: LiveSources;
  readonly tty?: WatchTty;
}
