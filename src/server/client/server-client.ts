import { Agent } from 'node:http';
import { MIB } from '../../base/units';
import { UserError } from '../../base/user-error';
import { socketGet } from '../../live/socket-get';

/** An answer of the server, as it came. */
export interface ServerAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** Asks a server over its unix socket. */
export interface ServerClient {
  readonly socket: string;
  /** Rejects with ClientError if there is no answer, or one that is not JSON. */
  get(target: string): Promise<ServerAnswer>;
  close(): void;
}

/** Why there is no usable answer, in a few words; `code`: the system's error code, if it gave one. */
export class ClientError extends UserError {
  constructor(
    reason: string,
    readonly code: string | undefined,
    cause?: unknown,
  ) {
    super(reason, { cause });
  }
}

/** Above the server's own limits (MOST_RECORDS of the largest records). */
const LARGEST_ANSWER_BYTES = 256 * MIB;
/** The server gives up after 20 s itself. */
const PATIENCE_MS = 30_000;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is none',
  ECONNREFUSED: 'it does not run',
  EACCES: 'permission denied',
  EAGAIN: 'it is overloaded',
  ECONNRESET: 'it closed the connection',
  EPIPE: 'it closed the connection',
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ClientError('its answer is not JSON', undefined, error);
  }
}

/** A client of the server at `socket`; connections are kept for the next question. */
export function newServerClient(socket: string, patienceMs = PATIENCE_MS): ServerClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const options = { agent, timeoutMs: patienceMs, mostBytes: LARGEST_ANSWER_BYTES };
  return {
    socket,
    get: async (target) => {
      const { status, text } = await socketGet(socket, target, options).catch((error: unknown) => {
        const { code, message } = error as NodeJS.ErrnoException;
        throw new ClientError(REASONS[code ?? ''] ?? message, code, error);
      });
      return { status, json: parsed(text) };
    },
    close: () => agent.destroy(),
  };
}
