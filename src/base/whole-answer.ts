import type { ClientRequest, IncomingHttpHeaders } from 'node:http';

interface WholeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface AnswerLimits {
  /** Limit for the whole answer; a socket's own timeout only counts silence. */
  readonly timeoutMs: number;
  readonly mostBytes: number;
}

/**
 * Sends a request and reads the whole answer. Rejects with an Error with a short message; a system error has its
 * `code`.
 */
export function wholeAnswer(
  asked: ClientRequest,
  { timeoutMs, mostBytes }: AnswerLimits,
  body?: string,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      clearTimeout(timer);
      asked.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
    asked.on('error', fail);
    asked.on('response', (answer) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (piece: Buffer) => {
        pieces.push(piece);
        bytes += piece.length;
        if (bytes > mostBytes) fail(new Error(`its answer is longer than ${mostBytes} bytes`));
      });
      answer.on('error', fail);
      answer.on('end', () => {
        clearTimeout(timer);
        const { statusCode: status = 0, headers } = answer;
        resolve({ status, headers, text: Buffer.concat(pieces).toString('utf8') });
      });
    });
    asked.end(body);
  });
}
