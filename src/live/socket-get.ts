import { request, type Agent } from 'node:http';

interface SocketAnswer {
  readonly status: number;
  readonly text: string;
}

interface SocketGetOptions {
  /** For the whole answer: a socket's own time limit counts silence only. */
  readonly timeoutMs: number;
  readonly mostBytes: number;
  readonly signal?: AbortSignal | undefined;
  /** Keeps connections for the next question; none: each has its own. */
  readonly agent?: Agent;
}

/**
 * Asks a server on a unix socket. Rejects with an Error of a few words: `code` is the system's, where it was
 * the system.
 */
export function socketGet(socketPath: string, target: string, options: SocketGetOptions): Promise<SocketAnswer> {
  const { timeoutMs, mostBytes, signal, agent = false } = options;
  return new Promise((resolve, reject) => {
    const headers = { accept: 'application/json', host: 'localhost' };
    const asked = request(
      { socketPath, path: target, headers, agent, ...(signal === undefined ? {} : { signal }) },
      (answer) => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (piece: Buffer) => {
          bytes += piece.length;
          pieces.push(piece);
          if (bytes > mostBytes) fail(new Error(`its answer is longer than ${mostBytes} bytes`));
        });
        answer.on('error', fail);
        answer.on('end', () => {
          clearTimeout(timer);
          resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') });
        });
      },
    );
    const fail = (error: Error): void => {
      clearTimeout(timer);
      asked.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
    asked.on('error', fail);
    asked.end();
  });
}
