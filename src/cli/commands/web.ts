import { isLoopback } from '../../base/loopback';
import type { Command } from 'commander';
import { check } from '../../base/shape';
import { loadSettings } from '../../record/settings';
import { problemOf } from '../../base/problem-document';
import { ClientError, newServerClient } from '../../server/client/server-client';
import { signInLinkShape } from '../../server/routes/sign-in-link';
import { commandAction, type CommandContext, CommandError, EXIT, type GlobalOptions } from '../command';
import { textOrJson, writeAnswer } from '../output';
import type { Terminal } from '../terminal';

interface WebOptions extends GlobalOptions {
  readonly socket?: string;
}

/** `qmemacct web` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--socket <path>', 'ask the server at this socket, not at serve_socket')
    .action(commandAction<WebOptions>(context, printLink));
}

/** If the server listens on its own host only: how to reach it from another host. */
function tunnel(url: string): readonly string[] {
  const { host, hostname, port } = new URL(url);
  if (!isLoopback(hostname)) return [];
  return [`It works on this host only; from another: ssh -L ${port}:${host} HOST, with this host's name`];
}

/** `web`: prints a one-time link to the server's pages; resolves to the exit status. Rejects with CommandError. */
export async function printLink(options: WebOptions, terminal: Terminal): Promise<number> {
  const format = textOrJson(options, 'web');
  const socket = options.socket ?? loadSettings(options.config).serve_socket;
  const client = newServerClient(socket);
  try {
    const answer = await client.get('/v1/sign-in-link');
    const link = check(signInLinkShape, answer.json, 'its answer');
    if (answer.status !== 200 || !link.ok)
      throw new CommandError(`qmemacct serve at ${socket}: ${problemOf(answer)}`, EXIT.unavailable);
    const { url, seconds } = link.value;
    const how = `Open it within ${Math.round(seconds / 60)} minutes; it works once.`;
    writeAnswer(terminal, format, { url, seconds }, [url, how, ...tunnel(url)]);
    return EXIT.found;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    throw new CommandError(`qmemacct serve at ${socket}: ${error.message}; its admins start it`, EXIT.unavailable);
  } finally {
    client.close();
  }
}
