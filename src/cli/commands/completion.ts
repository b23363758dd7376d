import { Argument, type Command } from 'commander';
import { completionScript, SHELLS, type Shell } from '../reference/completion';
import { type CommandContext, EXIT } from '../command';

/** `qmemacct completion bash|zsh|fish`: made from the running program's own commands, so never out of date. */
export function register(command: Command, { finish, terminal }: CommandContext): void {
  command
    .addArgument(new Argument('<shell>', 'for bash: eval "$(qmemacct completion bash)"').choices(SHELLS))
    .action((shell: Shell, _options: unknown, given: Command) => {
      terminal.write(completionScript(shell, given.parent ?? given));
      return finish(Promise.resolve(EXIT.found));
    });
}
