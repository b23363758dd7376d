import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { reasonOf } from '../sampler/log';
import { problemBody } from './body';
import type { Caller } from './caller';
import type { Request } from './handle';
import { HttpProblem } from './http-problem';
import type { Answered } from './route';
import { send } from './send';

/** Answers a request; rejects with HttpProblem. */
export type Answer = (request: Request, caller: Caller) => Promise<Answered>;

export interface HttpOptions {
  readonly answer: Answer;
  /** Who is at the other end, by the connection itself; null: nobody can tell (TCP). */
  readonly uidOf: (socket: Socket) => number | null;
  readonly log: (line: string) => void;
}

/** Line of the request and headers together. */
const HEADER_BYTES = 8192;
const MOST_HEADERS = 64;
/** ms for the headers, and for a whole request: who sends byte by byte is cut off. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 15_000;
/** ms without a byte in either direction. */
const IDLE_MS = 30_000;
const MOST_CONNECTIONS = 1024;
/** Requests on one connection. */
const REQUESTS_EACH = 10_000;

const FAULTS: Readonly<Record<string, HttpProblem>> = {
  HPE_HEADER_OVERFLOW: new HttpProblem(431, `the headers are larger than ${HEADER_BYTES} bytes; send fewer`),
  ERR_HTTP_REQUEST_TIMEOUT: new HttpProblem(408, 'the request did not come in time'),
};

/** What is no request at all is answered on the bare connection. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const problem = FAULTS[error.code ?? ''] ?? new HttpProblem(400, 'this is no HTTP request');
  const { type, bytes } = problemBody(problem);
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}\r\nConnection: close\r\n` +
      `Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n${bytes.toString()}`,
  );
}

function asProblem(error: unknown, log: HttpOptions['log']): HttpProblem {
  if (error instanceof HttpProblem) return error;
  log(`an answer failed, which is a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return new HttpProblem(500, 'the server failed at this; its log says where');
}

async function respond(request: IncomingMessage, response: ServerResponse, options: HttpOptions): Promise<void> {
  // A body is read and thrown away, so that the connection stays of use.
  request.resume();
  const { headers, socket } = request;
  try {
    const { body, maxAge } = await options.answer(
      {
        method: request.method ?? '',
        target: request.url ?? '',
        contentLength: headers['content-length'],
        transferEncoding: headers['transfer-encoding'],
      },
      { uid: options.uidOf(socket), authorization: headers.authorization },
    );
    await send(request, response, { status: 200, body, maxAge });
  } catch (error) {
    const problem = asProblem(error, options.log);
    const reply = { status: problem.status, body: problemBody(problem), maxAge: 0, headers: problem.headers };
    await send(request, response, reply);
  }
}

/** A server that does not listen yet. */
export function createHttpServer(options: HttpOptions): Server {
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: 2000,
      keepAliveTimeout: IDLE_MS,
      insecureHTTPParser: false,
    },
    (request, response) => {
      respond(request, response, options).catch((error: unknown) => {
        options.log(`an answer could not be sent: ${reasonOf(error)}`);
        response.destroy();
      });
    },
  );
  server.maxHeadersCount = MOST_HEADERS;
  server.maxConnections = MOST_CONNECTIONS;
  server.maxRequestsPerSocket = REQUESTS_EACH;
  server.setTimeout(IDLE_MS);
  server.on('clientError', refuse);
  return server;
}
