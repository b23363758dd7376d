import { listenerPaths } from './directory';
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../base/monotonic';
import { lockFile } from '../../native/libc';
import { inheritedFlags } from '../../base/node-flags';
import { programPath } from '../../base/programs';
import type { Settings } from '../../record/settings';
import { wordsOfSettings } from '../job/sampler-words';
import { decodeReply, lineSplitter, type NodeReply, type Reply, type Request } from './protocol';

type Hello = Extract<Reply, { kind: 'hello' }>;
type Answer = Extract<Reply, { kind: 'synced' | 'values' | 'node' }>;

/** A sampler's connection to the node's listener. */
export interface ListenerLink {
  readonly hello: Hello;
  /** Asks for the events of these processes and their descendants: past ones, as far as remembered, and all to come. */
  follow(pids: readonly number[]): void;
  /** Resolves when all events that the kernel has sent by now have been handed over; false: the listener does not answer. */
  sync(withinMs: number): Promise<boolean>;
  /** null: no answer in time. */
  read(source: string, pids: readonly number[], withinMs: number): Promise<Extract<Reply, { kind: 'values' }> | null>;
  /** The node's figures that jobs are charged by, read now. */
  node(withinMs: number): Promise<NodeReply | null>;
  close(): void;
}

export interface ListenerHandlers {
  /** Events, losses, and the node's figures as they come. */
  readonly take: (reply: Reply) => void;
  /** The listener has gone. */
  readonly lost: () => void;
}

const CONNECT_EVERY_MS = 20;
const STARTS_WITHIN_MS = 5000;
const HELLO_WITHIN_MS = 2000;

/** Starts the listener, unless one runs or has just been started. It gets the lock as descriptor 3. */
function startListener(settingsPath: string, settings: Settings): void {
  const { directory, lock } = listenerPaths(settings);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const descriptor = lockFile(lock);
  if (descriptor === null) return;
  try {
    const script = programPath('sampler/listener/main');
    const child = spawn(process.execPath, [...inheritedFlags(), script, settingsPath, ...wordsOfSettings(settings)], {
      cwd: '/',
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', descriptor],
      env: process.env,
    });
    child.on('error', () => undefined);
    child.unref();
  } finally {
    closeSync(descriptor);
  }
}

function tryConnect(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', () => resolve(null));
  });
}

/**
 * Connects to the listener of this node, and starts one where there is none (`settingsPath` null: only connects). null:
 * neither is possible here. The connection alone keeps no process alive.
 */
export async function connectListener(
  settingsPath: string | null,
  settings: Settings,
  handlers: ListenerHandlers,
): Promise<ListenerLink | null> {
  const { socket: path } = listenerPaths(settings);
  const deadline = monotonicMs() + STARTS_WITHIN_MS;
  let socket = await tryConnect(path);
  for (let tries = 0; socket === null; tries++) {
    if (settingsPath === null || monotonicMs() > deadline) return null;
    // A listener that is just ending may still hold the lock: starting one is tried again now and then.
    if (tries % 25 === 0) {
      try {
        startListener(settingsPath, settings);
      } catch {
        return null;
      }
    }
    await sleep(CONNECT_EVERY_MS);
    socket = await tryConnect(path);
  }
  return new Connection(socket, handlers).greeted();
}

/** One connection: numbers its requests, and matches the answers to them. */
class Connection {
  private readonly waiting = new Map<number, (answer: Answer | null) => void>();
  private ids = 0;
  private closed = false;
  /** Takes the listener's greeting; null once it has come. */
  private greet: ((hello: Hello | null) => void) | null = null;

  constructor(
    private readonly socket: Socket,
    private readonly handlers: ListenerHandlers,
  ) {
    socket.setEncoding('utf8');
    socket.unref();
    socket.on('data', lineSplitter((line) => this.take(line)) as (chunk: string | Buffer) => void);
    const gone = (): void => this.gone();
    socket.on('error', gone).on('close', gone);
  }

  greeted(): Promise<ListenerLink | null> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        // As with answers: a greeting that is there but unread counts.
        setImmediate(() => {
          if (this.greet !== null) this.end();
        });
      }, HELLO_WITHIN_MS);
      this.greet = (hello): void => {
        this.greet = null;
        clearTimeout(timer);
        resolve(hello === null ? null : this.link(hello));
      };
    });
  }

  private link(hello: Hello): ListenerLink {
    return {
      hello,
      follow: (pids) => this.write({ kind: 'follow', pids }),
      sync: async (withinMs) => (await this.ask(withinMs, (id) => ({ kind: 'sync', id }))) !== null,
      read: async (source, pids, withinMs) => {
        const answer = await this.ask(withinMs, (id) => ({ kind: 'read', id, source, pids }));
        return answer?.kind === 'values' ? answer : null;
      },
      node: async (withinMs) => {
        const answer = await this.ask(withinMs, (id) => ({ kind: 'node', id }));
        return answer?.kind === 'node' ? answer : null;
      },
      close: () => this.end(),
    };
  }

  private write(request: Request): void {
    if (!this.closed) this.socket.write(`${JSON.stringify(request)}\n`);
  }

  private ask(withinMs: number, request: (id: number) => Request): Promise<Answer | null> {
    if (this.closed) return Promise.resolve(null);
    const id = ++this.ids;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        // If this process was held up itself, the answer may be there, unread: sockets come after timers.
        setImmediate(() => {
          this.waiting.delete(id);
          resolve(null);
        });
      }, withinMs);
      this.waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      this.write(request(id));
    });
  }

  private take(line: string): void {
    const reply = decodeReply(line);
    if (reply === null || this.closed) return;
    if (reply.kind === 'hello') this.greet?.(reply);
    else if (reply.kind === 'synced' || reply.kind === 'values' || (reply.kind === 'node' && reply.id !== null)) {
      const id = reply.id as number;
      this.waiting.get(id)?.(reply);
      this.waiting.delete(id);
    } else this.handlers.take(reply);
  }

  private gone(): void {
    if (this.closed) return;
    const known = this.greet === null;
    this.end();
    if (known) this.handlers.lost();
  }

  private end(): void {
    if (this.closed) return;
    this.closed = true;
    this.socket.destroy();
    this.greet?.(null);
    for (const answer of this.waiting.values()) answer(null);
    this.waiting.clear();
  }
}
