import { request, type Agent } from 'node:http';
import { wholeAnswer, type AnswerLimits } from '../base/whole-answer';

interface SocketGetOptions extends AnswerLimits {
  readonly signal?: AbortSignal | undefined;
  /** Keeps connections open for the next request; left out: each request has its own. */
  readonly agent?: Agent;
}

/** Asks a server on a unix socket. Rejects as `wholeAnswer` does. */
export async function socketGet(
  socketPath: string,
  target: string,
  options: SocketGetOptions,
): ReturnType<typeof wholeAnswer> {
  const { signal, agent = false } = options;
  const headers = { accept: 'application/json', host: 'localhost' };
  const asked = request({ socketPath, path: target, headers, agent, signal });
  return wholeAnswer(asked, options);
}
