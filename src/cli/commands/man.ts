import type { Command } from 'commander';
import { manPage } from '../reference/man-page';
import { type CommandContext, EXIT } from '../command';

/** `qmemacct man`: the manual page, made from the running program. */
export function register(command: Command, { finish, terminal, version }: CommandContext): void {
  command.action((_options: unknown, given: Command) => {
    // Package builds set this time, so that each build gives the same page (reproducible-builds.org).
    const { SOURCE_DATE_EPOCH: time } = terminal.env;
    const date = time === undefined ? terminal.now() : new Date(Number(time) * 1000);
    terminal.write(manPage(given.parent ?? given, version, date));
    return finish(Promise.resolve(EXIT.found));
  });
}
