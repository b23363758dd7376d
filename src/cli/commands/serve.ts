import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface ServeOptions extends GlobalOptions {
  readonly address?: string;
  readonly port?: string;
  readonly socket?: string;
}

/** `qmemacct serve` */
export function registerServe(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .description("answer over HTTP and a unix socket: the running cluster, the accounting DB, QmemTools' two addresses")
    .option('--address <address>', 'listen there, not at serve_address (127.0.0.1)')
    .option('--port <port>', 'listen there, not at serve_port (8080); 0: no HTTP, only the socket')
    .option('--socket <path>', 'make the unix socket there, not at serve_socket; "none": no socket')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./serve-action.js').then(({ serve }) =>
          serve(command.optsWithGlobals<ServeOptions>(), program.version() ?? '', context.terminal),
        ),
      ),
    );
}
