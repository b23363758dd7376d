import { lstatSync, mkdirSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setMode } from '../../base/set-owner';
import { UserError } from '../../base/user-error';

/** Where a server listens. */
export type ListenAddress =
  | { readonly kind: 'tcp'; readonly address: string; readonly port: number }
  | { readonly kind: 'socket'; readonly path: string }
  /** Opened by systemd and handed over (sd_listen_fds). */
  | { readonly kind: 'descriptor'; readonly fd: number };

/** sockaddr_un holds 108 bytes with the final NUL. */
const LONGEST_PATH_BYTES = 107;
/** Capped by the kernel's own limit (net.core.somaxconn). */
const BACKLOG = 1024;

export function listenAddressText(place: ListenAddress): string {
  if (place.kind === 'socket') return place.path;
  if (place.kind === 'descriptor') return `descriptor ${place.fd}`;
  return `${place.address.includes(':') ? `[${place.address}]` : place.address}:${place.port}`;
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Where a browser finds the pages: as the site says (`serve_url`), else by the port; null: it serves no HTTP. */
export function siteUrl(given: string, addresses: readonly ListenAddress[]): string | null {
  if (given !== '') return given.replace(/\/+$/, '');
  const tcp = addresses.find((address) => address.kind === 'tcp');
  if (tcp === undefined) return null;
  return `http://${listenAddressText(EVERY_ADDRESS.has(tcp.address) ? { ...tcp, address: hostname() } : tcp)}`;
}

const CAUSES: Readonly<Record<ListenAddress['kind'], Readonly<Record<string, string>>>> = {
  tcp: {
    EADDRINUSE: 'another program has this port; give another with --port, or set serve_port',
    EADDRNOTAVAIL: 'this host has no such address; give another with --address, or set serve_address',
    EACCES: 'no permission for a port below 1024; give another with --port, or set serve_port',
    ENOTFOUND: 'no such address; give one in numbers with --address, or set serve_address',
  },
  socket: {
    EACCES: 'no permission to make it there; start as a user who may, or give another with --socket',
    EPERM: 'no permission to make it there; start as a user who may, or give another with --socket',
    EROFS: 'the file system is read-only; give another place with --socket, or set serve_socket',
    ENOENT: 'its directory is missing; make it, or give another with --socket',
    ENOTDIR: 'part of its path is not a directory; give another with --socket, or set serve_socket',
    EADDRINUSE: 'something else came in between; start again',
  },
  descriptor: { EBADF: 'systemd has handed over no such descriptor; start qmemacct-serve.socket first' },
};

function listenError(place: ListenAddress, error: unknown): UserError {
  if (error instanceof UserError) return error;
  const { code = '', message } = error as NodeJS.ErrnoException;
  const cause = CAUSES[place.kind][code] ?? message;
  return new UserError(`can't listen on ${listenAddressText(place)}: ${cause}`, { cause: error });
}

/** Whether a server answers at a unix socket. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = connect(path);
    const end = (result: boolean): void => {
      probe.destroy();
      resolve(result);
    };
    probe.once('connect', () => end(true));
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') end(false);
      // A full backlog: the server lives.
      else if (error.code === 'EAGAIN') end(true);
      else reject(error);
    });
  });
}

/** Makes the directory of a socket, and removes the socket of a dead server. Rejects with UserError. */
async function prepareSocket(path: string): Promise<void> {
  if (Buffer.byteLength(path) > LONGEST_PATH_BYTES)
    throw new UserError(`can't listen on ${path}: longer than ${LONGEST_PATH_BYTES} bytes; give a shorter one`);
  const directory = dirname(path);
  if (mkdirSync(directory, { recursive: true, mode: 0o755 }) !== undefined)
    // mkdir's mode was reduced by the umask.
    setMode(directory, 0o755);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket())
    throw new UserError(`can't listen on ${path}: a file that is not a socket lies there; remove it, or give --socket`);
  if (await answers(path))
    throw new UserError(`can't listen on ${path}: another server answers there; stop it, or give --socket`);
  unlinkSync(path);
}

/** The umask sets the socket's mode: a later chmod could hit another file. Node binds before `listen` returns. */
function listenForAll(server: Server, path: string): void {
  const before = process.umask(0o111);
  try {
    server.listen({ path, backlog: BACKLOG });
  } finally {
    process.umask(before);
  }
}

/** Lets a server listen; everybody may connect to a socket. Rejects with UserError. */
export async function listenAt(server: Server, place: ListenAddress): Promise<void> {
  try {
    if (place.kind === 'socket') await prepareSocket(place.path);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.once('listening', () => {
        server.off('error', reject);
        resolve();
      });
      if (place.kind === 'tcp') server.listen({ host: place.address, port: place.port, backlog: BACKLOG });
      else if (place.kind === 'descriptor') server.listen({ fd: place.fd }, BACKLOG);
      else listenForAll(server, place.path);
    });
  } catch (error) {
    throw listenError(place, error);
  }
}

/** First descriptor that systemd hands over (sd_listen_fds(3)). */
const FIRST_DESCRIPTOR = 3;

/** Sockets that systemd opened for this process; none if systemd did not start it. */
export function systemdSockets(
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
): readonly ListenAddress[] {
  if (env.LISTEN_PID !== String(pid)) return [];
  const count = /^\d{1,2}$/.test(env.LISTEN_FDS ?? '') ? Number(env.LISTEN_FDS) : 0;
  return Array.from({ length: count }, (_, index) => ({ kind: 'descriptor', fd: FIRST_DESCRIPTOR + index }));
}
