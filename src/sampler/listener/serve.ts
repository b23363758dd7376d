import { MIB } from '../../base/units';
import { monotonicMs } from '../../base/monotonic';
import { listenerPaths } from './directory';
import { renameSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { resourceLimit, Rlimit } from '../../native/libc';
import type { KernelEvents } from '../../sources/events/kernel-events';
import type { KeptExitRecord } from '../../sources/events/kept-exit-records';
import { OomKills } from '../../sources/events/oom-kills';
import type { ThreadEvent } from '../../sources/events/process-events';
import { bootId, monotonicUs } from '../../sources/proc/clock';
import { isUnavailable, type Unavailable } from '../../sources/source';
import { reasonOf } from '../../base/user-error';
import { writePidFile } from '../job/pid-file';
import type { Settings } from '../../record/settings';
import { threadsOfAll } from '../../sources/proc/process-files';
import type * as NodeChargesModule from './node-charges';
import type { ChargeReader } from './node-charges';
import type * as NodeReadingsModule from './node-readings';
import type { NodeReadings } from './node-readings';
import { LeftRuns } from './left-runs';
import { newProcessTable, type ProcessTable } from './process-table';
import { decodeRequest, encodeReply, lineSplitter, type Reply, type Request } from './protocol';
import { newRouter, type Router } from './router';
import { settingsDigest } from './running';

/** How often the kernel's events are read; in between the kernel keeps them. */
const LOOK_EVERY_MS = 100;
/** The same when no process is followed: a sampler's first request has events read at once. */
const IDLE_LOOK_EVERY_MS = 2000;
/** If more events than this were read, the next read comes soon in any case: the receive buffers must not fill up. */
const MANY_EVENTS = 2000;
/** How long a new listener stays at least: the sampler that started it is on the way. */
const FIRST_FOLLOWER_MS = 10_000;
/** A listener without events, or under a job's limits, ends at the latest so long after its last sampler has gone. */
const MOST_LINGER_MS = 60_000;
/** A sampler with more unsent bytes is disconnected: one that reads nothing must not fill our memory. */
const MOST_UNSENT_BYTES = 64 * MIB;
const SPEND_OF_CPU_LIMIT = 0.5;
/** Unless always, node-wide sources are read from so long after the first sampler until so long after the last one. */
const BEFORE_NODE_MS = 5000;
const AFTER_NODE_MS = 10_000;
/** How often we look whether our socket is in place: if somebody has removed it, nobody finds us. */
const PLACE_EVERY_MS = 10_000;

const SIGKILL = 9;

interface Follower {
  readonly socket: Socket;
  unsent: string[];
}

function reasonFor(state: 'open' | Unavailable): string | null {
  return state === 'open' ? null : state.unavailable;
}

/** Serves all samplers of the node, until it has nobody left to serve. */
export class Listener {
  private readonly opened: KernelEvents | null;
  private readonly hello: Reply;
  private readonly oomKills = new OomKills();
  private readonly table: ProcessTable;
  private readonly followers = new Set<Follower>();
  private readonly router: Router<Follower>;
  private readonly server: Server;
  private readonly cpuLimit = resourceLimit(Rlimit.CPU).soft;
  private readonly lingerMs: number;
  private charges: ChargeReader | null = null;
  private node: NodeReadings | null = null;
  private left: LeftRuns | null = null;
  /** When the first sampler came, and when one was last here. null: idle. */
  private busy: { readonly sinceMs: number; lastMs: number } | null = null;
  private stayUntilMs: number;
  private placeLookMs = 0;
  private inode = 0;
  private timer: NodeJS.Timeout | null = null;
  private giveUpLock: () => void = () => undefined;
  private ended: () => void = () => undefined;
  private retired = false;
  private ending = false;

  /** `isLimited`: it was started under a job's limits. */
  constructor(
    private readonly settings: Settings,
    private readonly settingsPath: string,
    kernel: KernelEvents | Unavailable,
    isLimited: boolean,
  ) {
    this.opened = isUnavailable(kernel) ? null : kernel;
    const events = isUnavailable(kernel) ? kernel.unavailable : reasonFor(kernel.processEvents);
    const lingerMs = settings.listener_linger * 1000;
    this.lingerMs = events !== null || isLimited ? Math.min(lingerMs, MOST_LINGER_MS) : lingerMs;
    this.stayUntilMs = monotonicMs() + Math.max(this.lingerMs, FIRST_FOLLOWER_MS);
    this.hello = {
      kind: 'hello',
      events,
      records: isUnavailable(kernel) ? kernel.unavailable : reasonFor(kernel.exitRecords),
      stays: this.lingerMs === Infinity,
    };
    // After the sockets have been opened: if a thread ends in between, its exit event takes it off the list.
    this.table = newProcessTable(this.opened === null ? new Map() : threadsOfAll(), (pid) => this.oomKills.ended(pid));
    this.router = newRouter<Follower>((follower, reply) => follower.unsent.push(encodeReply(reply)));
    this.server = createServer((socket) => {
      this.greet(socket);
    });
  }

  /** `giveUpLock`: lets the next listener have its place. Resolves when nobody is left to serve. */
  serve(giveUpLock: () => void): Promise<void> {
    const { directory, socket: path } = listenerPaths(this.settings);
    this.giveUpLock = giveUpLock;
    // Closing a server removes the path that it was opened with: that must not be another listener's socket.
    const own = join(directory, String(process.pid));
    rmSync(own, { force: true });
    this.server.listen(own, () => {
      renameSync(own, path);
      this.inode = statSync(path).ino;
      writePidFile(directory, bootId(), { settings: settingsDigest(this.settings) });
    });
    this.left = new LeftRuns(this.settings, this.settingsPath);
    process.on('SIGTERM', () => {
      this.retire();
    });
    this.tick();
    return new Promise((resolve, reject) => {
      this.server.on('error', (error) => reject(new Error(`${path}: ${reasonOf(error)}`)));
      this.ended = resolve;
    });
  }

  private greet(socket: Socket): void {
    const follower: Follower = { socket, unsent: [] };
    const nowMs = monotonicMs();
    this.followers.add(follower);
    this.busy ??= { sinceMs: nowMs, lastMs: nowMs };
    socket.setEncoding('utf8');
    const take = lineSplitter((line) => {
      const request = decodeRequest(line);
      if (request !== null) this.answer(follower, request);
    }, MIB);
    socket.on('data', take as (chunk: string | Buffer) => void);
    const leave = (): void => {
      if (!this.followers.delete(follower)) return;
      this.router.leave(follower);
      this.stayUntilMs = monotonicMs() + this.lingerMs;
      this.wake();
    };
    socket.on('error', leave).on('close', leave);
    socket.write(encodeReply(this.hello));
  }

  private answer(follower: Follower, request: Request): void {
    switch (request.kind) {
      case 'follow':
        this.look();
        this.router.follow(follower, request.pids);
        this.wake();
        break;
      case 'sync':
        this.look();
        follower.unsent.push(encodeReply({ kind: 'synced', id: request.id }));
        break;
      case 'node':
        follower.unsent.push(encodeReply(this.nodeReply(request.id)));
        break;
      case 'read':
        void this.read(follower, request);
        break;
      case 'retire':
        this.retire();
        break;
      default:
    }
    this.flush(follower);
  }

  private async read(follower: Follower, request: Extract<Request, { kind: 'read' }>): Promise<void> {
    const values = await this.readings().read(request.source, request.pids);
    const absent = isUnavailable(values);
    const unavailable = absent ? values.unavailable : null;
    follower.unsent.push(encodeReply({ kind: 'values', id: request.id, readings: absent ? [] : values, unavailable }));
    this.flush(follower);
  }

  /** Made when needed: short jobs must not pay for a round of all sources, nor for loading their code. */
  private readings(): NodeReadings {
    const { NodeReadings: Readings } = require('./node-readings') as typeof NodeReadingsModule;
    this.node ??= new Readings(this.settings, this.settingsPath, () => this.publish());
    return this.node;
  }

  private nodeReply(id: number | null): Reply {
    this.charges ??= (require('./node-charges') as typeof NodeChargesModule).openCharges(this.settings);
    return { kind: 'node', id, charges: this.charges.read(), gpu: this.node?.gpu() ?? [] };
  }

  private publish(): void {
    if (this.followers.size === 0) return;
    const reply = encodeReply(this.nodeReply(null));
    for (const follower of this.followers) {
      follower.unsent.push(reply);
      this.flush(follower);
    }
  }

  private flush(follower: Follower): void {
    if (follower.unsent.length === 0) return;
    follower.socket.write(follower.unsent.join(''));
    follower.unsent = [];
    if (follower.socket.writableLength > MOST_UNSENT_BYTES) follower.socket.destroy();
  }

  /** Reads and passes on the kernel's new events; returns their number. */
  private look(): number {
    if (this.opened === null) return 0;
    const events: ThreadEvent[] = [];
    const records: KeptExitRecord[] = [];
    const { lostEvents, lostRecords } = this.opened.drain({
      event: (event) => events.push(event),
      record: (record) => records.push(record),
    });
    this.table.records(records);
    if (events.some((event) => event.kind === 'exit' && event.signal === SIGKILL)) this.oomKills.read();
    this.router.events(this.table.events(events.sort((a, b) => a.at - b.at)));
    // After the events, so that the history drops these, too: the lost ones were among them.
    if (lostEvents) this.router.lost('events', monotonicUs());
    if (lostRecords) this.router.lost('records', monotonicUs());
    for (const follower of this.followers) this.flush(follower);
    return events.length;
  }

  private readonly tick = (): void => {
    const found = this.look();
    const nowMs = monotonicMs();
    this.lookAfterNode(nowMs);
    this.lookAfterPlace(nowMs);
    if (this.isDone(nowMs)) {
      this.end();
      return;
    }
    const soon = this.router.isFollowed() || found > MANY_EVENTS;
    this.timer = setTimeout(this.tick, soon ? LOOK_EVERY_MS : IDLE_LOOK_EVERY_MS);
  };

  private wake(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(this.tick, LOOK_EVERY_MS);
  }

  private lookAfterNode(nowMs: number): void {
    if (this.settings.node_series_always && !this.retired) {
      this.readings().resume();
      return;
    }
    if (this.busy === null) return;
    if (this.followers.size > 0) this.busy.lastMs = nowMs;
    if (nowMs - this.busy.lastMs > AFTER_NODE_MS) {
      this.busy = null;
      this.node?.pause();
    } else if (nowMs - this.busy.sinceMs > BEFORE_NODE_MS) this.readings().resume();
  }

  private hasPlace(): boolean {
    const { socket } = listenerPaths(this.settings);
    return statSync(socket, { throwIfNoEntry: false })?.ino === this.inode;
  }

  private lookAfterPlace(nowMs: number): void {
    if (this.retired || this.inode === 0 || nowMs < this.placeLookMs) return;
    this.placeLookMs = nowMs + PLACE_EVERY_MS;
    if (!this.hasPlace()) this.retire();
  }

  private isDone(nowMs: number): boolean {
    const idle = this.followers.size === 0 && (this.retired || nowMs > this.stayUntilMs);
    if (idle || this.cpuLimit === Infinity) return idle;
    const { user, system } = process.cpuUsage();
    // Under a job's CPU limit: samplers go on with a successor.
    return (user + system) / 1e6 > this.cpuLimit * SPEND_OF_CPU_LIMIT;
  }

  /** Makes way for the next listener, and serves its present samplers to their end. */
  private retire(): void {
    if (this.retired) return;
    this.retired = true;
    this.leavePlace();
    this.left?.close();
    this.node?.stopKeeping();
    this.wake();
  }

  private leavePlace(): void {
    const { directory, socket } = listenerPaths(this.settings);
    if (this.hasPlace()) {
      rmSync(join(directory, 'pid'), { force: true });
      rmSync(socket, { force: true });
    }
    this.server.close();
    this.giveUpLock();
  }

  private end(): void {
    if (this.ending) return;
    this.ending = true;
    if (!this.retired) this.leavePlace();
    this.left?.close();
    this.oomKills.close();
    this.charges?.close();
    void (this.node?.close() ?? Promise.resolve()).finally(this.ended);
  }
}
