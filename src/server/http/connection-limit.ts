import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HttpProblem } from './http-problem';

/** Connections of one uid that are answered; a few more get an error, the rest are closed. */
const MOST_EACH = 32;
const MOST_REFUSED_EACH = 32;
/** ms in which a connection that is refused may ask, to hear why. */
const REFUSED_MS = 2000;
/** Requests sent ahead on one connection: their answers lie in memory until they are read. Our own clients send one. */
const MOST_UNDER_WAY = 8;

/** Counts the connections of each uid over a unix socket, so that no user takes those of all others. */
export class ConnectionLimit {
  readonly #open = new Map<number, number>();
  readonly #refused = new WeakSet<Socket>();
  readonly #underWay = new WeakMap<Socket, number>();

  /** Takes in a new connection of this user. */
  admit(socket: Socket, uid: number): void {
    const before = this.#open.get(uid) ?? 0;
    if (before >= MOST_EACH + MOST_REFUSED_EACH) {
      socket.destroy();
      return;
    }
    this.#open.set(uid, before + 1);
    socket.once('close', () => this.#leave(uid));
    if (before < MOST_EACH) return;
    this.#refused.add(socket);
    const timer = setTimeout(() => socket.destroy(), REFUSED_MS);
    socket.once('close', () => clearTimeout(timer));
  }

  /** Throws HttpProblem for a request on a connection that is one too many. */
  check(socket: Socket): void {
    if (this.#refused.has(socket))
      throw new HttpProblem(503, `you have ${MOST_EACH} connections here already; close some, or ask again`, {
        Connection: 'close',
        'Retry-After': '1',
      });
  }

  /** Counts a request until its answer is sent; false: its connection has too many under way. */
  begin(socket: Socket, response: ServerResponse): boolean {
    const before = this.#underWay.get(socket) ?? 0;
    if (before >= MOST_UNDER_WAY) return false;
    this.#underWay.set(socket, before + 1);
    response.once('close', () => this.#underWay.set(socket, (this.#underWay.get(socket) ?? 1) - 1));
    return true;
  }

  #leave(uid: number): void {
    const left = (this.#open.get(uid) ?? 1) - 1;
    if (left > 0) this.#open.set(uid, left);
    else this.#open.delete(uid);
  }
}
