import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MIB } from '../../base/units';
import { isOwnUid, UNKNOWN_UID } from '../access/caller';
import { HttpProblem } from './http-problem';

/** Connections in all: where there are more, those make room that have been idle longest. */
const MOST_CONNECTIONS = 1024;
/** Share of these that is kept for root and the server's own user alone. */
const KEPT_SHARE = 1 / 16;
/** Descriptors for all else: stores, threads, calls of Grid Engine. */
const SPARE_DESCRIPTORS = 128;
/** Connections of one uid, or of another host, that are answered; a few more get an error, the rest are closed. */
const MOST_OF_USER = 32;
const MOST_OF_HOST = 256;
const MOST_REFUSED_EACH = 32;
/** Connections whose users are looked up at a time; further ones count as connections of unknown users. */
const MOST_LOOKED_UP = 64;
/** ms that a refused connection stays open, so that its client gets the reason. */
const REFUSED_MS = 2000;
/** Requests under way on one connection, the others sent ahead. Our own clients send one at a time. */
const MOST_UNDER_WAY = 8;
/**
 * Answers lie in memory until the client reads them: at most this many bytes for one user or host. For connections from
 * this host, which may be a proxy's for everybody, at most this many for each connection.
 */
const MOST_UNREAD_BYTES = 128 * MIB;
/** For all connections from this host together: above it, those make room whose answers have been unread longest. */
const MOST_UNREAD_HERE_BYTES = 1024 * MIB;

/**
 * Connections that each of so many servers may have, so that none of them uses up the process's descriptors
 * (`descriptors`: RLIMIT_NOFILE): clients of TCP could keep everybody from the unix socket.
 */
export const mostConnections = (descriptors: number, servers: number): number =>
  Math.max(1, Math.min(MOST_CONNECTIONS, Math.floor((descriptors - SPARE_DESCRIPTORS) / servers)));

/** Counts the connections of each uid over a unix socket, and of each host, so that none uses up those of all. */
export class ConnectionLimit {
  /** Uids that the name service knows: a bounded number, unlike unknown uids, which are not kept. */
  private readonly known = new Set<number>();
  /** All connections, those that were used last at the end. */
  private readonly all = new Set<Socket>();
  private readonly lookedUp = new WeakMap<Socket, Promise<void>>();
  private lookups = 0;
  private users = 0;
  private readonly open = new Map<number | string, number>();
  /** Refused connections, each with the limit that it exceeds. */
  private readonly refused = new WeakMap<Socket, number>();
  private readonly underWay = new WeakMap<Socket, number>();
  private readonly whose = new WeakMap<Socket, number | string>();
  /** Those whose first unread answer is oldest come first. */
  private readonly unread = new Map<number | string | Socket, number>();
  /** Of connections from this host. */
  private unreadHere = 0;
  /** For each connection what takes its answers out of these bytes again. */
  private readonly releases = new WeakMap<Socket, Set<() => void>>();

  /**
   * `countedUid`: the uid to which a user's connections count; UNKNOWN_UID for users unknown to the name service.
   * `most`: connections in all.
   */
  constructor(
    private readonly countedUid: (uid: number) => Promise<number>,
    private readonly most: number,
  ) {}

  /** Takes in a new connection, and closes the one that has been idle longest if there are as many as may be. */
  enter(socket: Socket): void {
    this.all.add(socket);
    socket.once('close', () => this.all.delete(socket));
    if (this.all.size < this.most) return;
    for (const idle of this.all) {
      if (idle === socket || (this.underWay.get(idle) ?? 0) > 0) continue;
      idle.destroy();
      this.all.delete(idle);
      return;
    }
  }

  /** Admits a new connection of a user, once it is known to which uid it counts. */
  admitUser(socket: Socket, uid: number): void {
    if (this.users >= this.most * (1 - KEPT_SHARE) && !isOwnUid(uid)) {
      socket.destroy();
      return;
    }
    this.users++;
    socket.once('close', () => this.users--);
    if (isOwnUid(uid) || this.known.has(uid)) this.admit(socket, uid);
    else if (this.lookups >= MOST_LOOKED_UP) this.admit(socket, UNKNOWN_UID);
    else this.lookedUp.set(socket, this.lookUp(socket, uid));
  }

  /** Admits a new connection of a user (uid) or of a host (its address). */
  admit(socket: Socket, who: number | string): void {
    const most = typeof who === 'number' ? MOST_OF_USER : MOST_OF_HOST;
    const before = this.open.get(who) ?? 0;
    if (before >= most + MOST_REFUSED_EACH) {
      socket.destroy();
      return;
    }
    this.open.set(who, before + 1);
    this.whose.set(socket, who);
    socket.once('close', () => this.leave(who));
    if (before < most) return;
    this.refused.set(socket, most);
    const timer = setTimeout(() => socket.destroy(), REFUSED_MS);
    socket.once('close', () => clearTimeout(timer));
  }

  /** Rejects with HttpProblem for a request on a connection above the limit. */
  async check(socket: Socket): Promise<void> {
    await this.lookedUp.get(socket);
    const most = this.refused.get(socket);
    if (most !== undefined)
      throw new HttpProblem(503, `you have ${most} connections here already; close some, or ask again`, {
        Connection: 'close',
        'Retry-After': '1',
      });
  }

  /** Counts a request until its answer is sent; false: its connection has too many under way. */
  begin(socket: Socket, response: ServerResponse): boolean {
    const before = this.underWay.get(socket) ?? 0;
    if (before >= MOST_UNDER_WAY) return false;
    this.underWay.set(socket, before + 1);
    response.once('close', () => {
      this.underWay.set(socket, (this.underWay.get(socket) ?? 1) - 1);
      if (this.all.delete(socket)) this.all.add(socket);
    });
    return true;
  }

  /**
   * Counts an answer until it is read or its connection closes. Throws HttpProblem if its user or host has too much
   * unread.
   */
  hold(socket: Socket, response: ServerResponse, bytes: number): void {
    if (socket.destroyed) return;
    const who = this.whose.get(socket) ?? socket;
    const unread = (): number => this.unread.get(who) ?? 0;
    if (unread() > 0 && unread() + bytes > MOST_UNREAD_BYTES)
      throw new HttpProblem(503, 'you have not read what was answered before; read it, and ask again', {
        Connection: 'close',
        'Retry-After': '1',
      });
    if (who === socket) this.makeRoom(socket, bytes);
    this.unread.set(who, unread() + bytes);
    const releases = this.releasesOf(socket);
    const release = (): void => {
      if (!releases.delete(release)) return;
      const left = unread() - bytes;
      if (left > 0) this.unread.set(who, left);
      else this.unread.delete(who);
      if (who === socket) this.unreadHere -= bytes;
    };
    releases.add(release);
    response.once('close', release);
  }

  /** Counts bytes for a connection from this host, and closes others if all of them have too much unread. */
  private makeRoom(socket: Socket, bytes: number): void {
    this.unreadHere += bytes;
    for (const other of this.unread.keys()) {
      if (this.unreadHere <= MOST_UNREAD_HERE_BYTES) return;
      if (typeof other !== 'object' || other === socket) continue;
      other.destroy();
      for (const release of [...this.releasesOf(other)]) release();
    }
  }

  private releasesOf(socket: Socket): Set<() => void> {
    const known = this.releases.get(socket);
    if (known !== undefined) return known;
    const releases = new Set<() => void>();
    this.releases.set(socket, releases);
    // Of answers sent ahead, those that wait for their turn then are never closed themselves.
    socket.once('close', () => releases.forEach((release) => release()));
    return releases;
  }

  private async lookUp(socket: Socket, uid: number): Promise<void> {
    this.lookups++;
    const who = await this.countedUid(uid).catch(() => UNKNOWN_UID);
    this.lookups--;
    if (who === uid) this.known.add(uid);
    if (!socket.destroyed) this.admit(socket, who);
  }

  private leave(who: number | string): void {
    const left = (this.open.get(who) ?? 1) - 1;
    if (left > 0) this.open.set(who, left);
    else this.open.delete(who);
  }
}
