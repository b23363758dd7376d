import { connect, type Socket } from 'node:net';
import { decodeReply, lineSplitter, type Reply } from '../../sampler/listener/protocol';

/** What the node's listener says about itself, or how asking it failed. */
export type ListenerAnswer =
  | Extract<Reply, { kind: 'hello' }>
  | { readonly kind: 'none' }
  | { readonly kind: 'denied' }
  | { readonly kind: 'silent'; readonly why: string };

const NONE = ['ENOENT', 'ENOTDIR', 'ECONNREFUSED'];
const DENIED = ['EACCES', 'EPERM'];

function failed(error: unknown): ListenerAnswer {
  const { code, message } = error as NodeJS.ErrnoException;
  if (NONE.includes(code ?? '')) return { kind: 'none' };
  return DENIED.includes(code ?? '') ? { kind: 'denied' } : { kind: 'silent', why: code ?? message };
}

function parseHello(line: string): ListenerAnswer {
  const reply = decodeReply(line);
  return reply?.kind === 'hello' ? reply : { kind: 'silent', why: 'it does not answer as a listener of this version' };
}

/** Asks the listener at a socket; starts none if there is none. Never rejects. */
export function askListener(path: string, withinMs = 2000): Promise<ListenerAnswer> {
  return new Promise((resolve) => {
    let socket: Socket;
    try {
      socket = connect(path);
    } catch (error) {
      resolve(failed(error));
      return;
    }
    const end = (answer: ListenerAnswer): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => {
      end({ kind: 'silent', why: `no answer within ${withinMs / 1000} s` });
    }, withinMs);
    const take = lineSplitter((line) => {
      end(parseHello(line));
    }, 64 * 1024);
    socket.setEncoding('utf8');
    socket.on('data', take as (chunk: string | Buffer) => void);
    socket.on('error', (error) => {
      end(failed(error));
    });
    socket.on('close', () => {
      end({ kind: 'silent', why: 'it closed the connection without an answer' });
    });
  });
}
