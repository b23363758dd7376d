import { setMaxListeners } from 'node:events';
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { reasonOf } from '../../base/user-error';
import type { Caller } from '../access/caller';
import { sessionCookie } from '../access/signed-in';
import { ConnectionLimit } from './connection-limit';
import type { Request } from './dispatch';
import { hostAddress, LOOPBACK } from './host-header';
import { HttpProblem, problemBody } from './http-problem';
import type { RouteAnswer } from '../routes/route';
import { problemPage, takesHtml } from '../web/problem-page';
import { send } from './send';

/** Answers a request; rejects with HttpProblem. `gone` is aborted when the client has left. */
export type Answer = (request: Request, caller: Caller, gone: AbortSignal) => Promise<RouteAnswer>;

interface HttpOptions {
  readonly answer: Answer;
  /** The uid at the other end, by the kernel; null: unknown (TCP). */
  readonly uidOf: (socket: Socket) => number | null;
  /** The uid to which a user's connections count. */
  readonly countedUid: (uid: number) => Promise<number>;
  readonly mostConnections: number;
  /** Whether this `Host` names the server that listens on this address. */
  readonly isOwnName: (host: string, localAddress: string) => Promise<boolean>;
  readonly log: (line: string) => void;
}

interface ServerParts extends HttpOptions {
  readonly limit: ConnectionLimit;
  readonly closedSignalOf: (socket: Socket) => AbortSignal;
}

/** One signal for each connection, aborted when it closes: all its requests share it, also those sent ahead. */
function closedSignals(): ServerParts['closedSignalOf'] {
  const known = new WeakMap<Socket, AbortSignal>();
  return (socket) => {
    const found = known.get(socket);
    if (found !== undefined) return found;
    const gone = new AbortController();
    // A page asks several questions, each of which listens; Node would take more than ten for a leak, and warn.
    setMaxListeners(0, gone.signal);
    known.set(socket, gone.signal);
    if (socket.destroyed) gone.abort();
    else socket.once('close', () => gone.abort());
    return gone.signal;
  };
}

/** Request line and headers together. */
const HEADER_BYTES = 8192;
const MOST_HEADERS = 64;
/** ms for the headers, and for a whole request: a client that sends byte by byte is cut off. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 15_000;
/** ms without a byte in either direction. */
const IDLE_MS = 30_000;
/** Requests on one connection. */
const REQUESTS_EACH = 10_000;

const FAULTS: Readonly<Record<string, HttpProblem>> = {
  HPE_HEADER_OVERFLOW: new HttpProblem(431, `the headers are larger than ${HEADER_BYTES} bytes; send fewer`),
  ERR_HTTP_REQUEST_TIMEOUT: new HttpProblem(408, 'the request did not come in time'),
};

const TOO_MANY_AHEAD = new HttpProblem(
  503,
  'too many requests were sent ahead here; wait for the answers, or ask again',
);

/** Answers what is not an HTTP request on the bare socket. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  endWith(FAULTS[error.code ?? ''] ?? new HttpProblem(400, 'this is not an HTTP request'), socket);
}

function endWith(problem: HttpProblem, socket: Socket): void {
  const { type, bytes } = problemBody(problem);
  socket.end(
    `HTTP/1.1 ${problem.httpStatus} ${STATUS_CODES[problem.httpStatus] ?? ''}\r\nConnection: close\r\n` +
      `Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n${bytes.toString()}`,
  );
}

function asProblem(error: unknown, log: HttpOptions['log']): HttpProblem {
  if (error instanceof HttpProblem) return error;
  const where = error instanceof Error ? (error.stack ?? error.message) : String(error);
  log(`an answer failed, which is a bug: ${where.replace(/\n\s*/g, ' | ')}`);
  return new HttpProblem(500, 'the server failed at this; its log says where');
}

/**
 * Against DNS rebinding: a page of another site whose name was made to resolve to this server sends that name as
 * `Host`. No such page reaches a unix socket, and HTTP/1.0 has no `Host`. Rejects with HttpProblem.
 */
async function checkHost(
  host: string | undefined,
  { localAddress }: Socket,
  { isOwnName }: HttpOptions,
): Promise<void> {
  if (host === undefined || localAddress === undefined) return;
  if (!(await isOwnName(host, localAddress)))
    throw new HttpProblem(
      421,
      `this server does not go by the name "${host.slice(0, 260)}"; ask by this host's name or address, or have it added to serve_hosts`,
    );
}

/** The host that a request names, and its path and query: what clients send to a proxy has the host before the path. */
function askedFor({ url = '', headers }: IncomingMessage): {
  readonly host: string | undefined;
  readonly target: string;
} {
  const [, host, target = ''] = /^https?:\/\/([^/?]*)(.*)$/i.exec(url) ?? [];
  // It counts more than the header (RFC 9112, 3.2.2).
  return host === undefined ? { host: headers.host, target: url } : { host, target: target.replace(/^(?!\/)/, '/') };
}

/** A form of a page: a token and some words. */
const LARGEST_FORM_BYTES = 4096;

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    request.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= LARGEST_FORM_BYTES) pieces.push(piece);
      else reject(new HttpProblem(413, `the form is larger than ${LARGEST_FORM_BYTES} bytes; write less into it`));
    });
    request.on('end', () => resolve(Buffer.concat(pieces).toString('utf8')));
    // What breaks off is no request any more.
    request.on('error', () => reject(new HttpProblem(400, 'the form did not come whole; send it again')));
  });
}

async function respond(request: IncomingMessage, response: ServerResponse, options: ServerParts): Promise<void> {
  const { socket, method = '' } = request;
  const { host, target } = askedFor(request);
  const headers = { ...request.headers, host };
  // A body is read and thrown away, so that the connection stays usable.
  if (method !== 'POST') request.resume();
  try {
    await options.limit.check(socket);
    await checkHost(host, socket, options);
    const reply = await options.answer(
      { method, target, headers, body: () => readBody(request) },
      {
        uid: options.uidOf(socket),
        authorization: headers.authorization,
        session: sessionCookie(headers.cookie),
        address: socket.remoteAddress,
      },
      options.closedSignalOf(socket),
    );
    options.limit.hold(socket, response, reply.body.bytes.length);
    await send(request, response, { status: 200, ...reply });
  } catch (error) {
    const problem = asProblem(error, options.log);
    const { body, headers: more = {} } = takesHtml(headers.accept)
      ? problemPage(problem)
      : { body: problemBody(problem) };
    await send(request, response, {
      status: problem.httpStatus,
      body,
      maxAge: 0,
      headers: { ...more, ...problem.headers },
    });
  }
  request.resume();
}

/** A server that does not listen yet. */
export function createHttpServer(options: HttpOptions): Server {
  const limit = new ConnectionLimit(options.countedUid, options.mostConnections);
  const parts: ServerParts = { ...options, limit, closedSignalOf: closedSignals() };
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
      const { socket } = request;
      // Node still delivers requests sent ahead after the connection was closed.
      if (socket.destroyed) return;
      if (!limit.begin(socket, response)) {
        endWith(TOO_MANY_AHEAD, socket);
        socket.destroy();
        return;
      }
      respond(request, response, parts).catch((error: unknown) => {
        options.log(`an answer could not be sent: ${reasonOf(error)}`);
        response.destroy();
      });
    },
  );
  server.maxHeadersCount = MOST_HEADERS;
  server.maxConnections = options.mostConnections;
  server.maxRequestsPerSocket = REQUESTS_EACH;
  server.setTimeout(IDLE_MS);
  server.on('clientError', refuse);
  server.on('connection', (socket) => {
    limit.enter(socket);
    const uid = options.uidOf(socket);
    const host = socket.remoteAddress === undefined ? null : hostAddress(socket.remoteAddress);
    if (uid !== null) limit.admitUser(socket, uid);
    // Connections from this host are not counted: they may be a proxy's for everybody.
    else if (host !== null && host !== LOOPBACK) limit.admit(socket, host);
  });
  return server;
}
