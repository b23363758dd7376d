import type { Command } from 'commander';
import { manPage } from '../reference/man-page';
import { type CommandContext, EXIT } from '../command';

/** `qmemacct man`: the manual page of the program that runs. */
export function register(command: Command, { finish, terminal, version }: CommandContext): void {
  command.action((_options: unknown, given: Command) => {
    terminal.write(manPage(given.parent ?? given, version, terminal.now()));
    return finish(Promise.resolve(EXIT.found));
  });
}
