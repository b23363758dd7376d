import type { Socket } from 'node:net';
import { HttpProblem } from './http-problem';

/** Connections of one uid that are answered; a few more get an error, the rest are closed. */
const MOST_EACH = 32;
const MOST_REFUSED_EACH = 32;
/** ms in which a connection that is refused may ask, to hear why. */
const REFUSED_MS = 2000;

/** Counts the connections of each uid over a unix socket, so that no user takes those of all others. */
export class ConnectionLimit {
  readonly #open = new Map<number, number>();
  readonly #refused = new WeakSet<Socket>();

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

  #leave(uid: number): void {
    const left = (this.#open.get(uid) ?? 1) - 1;
    if (left > 0) this.#open.set(uid, left);
    else this.#open.delete(uid);
  }
}
