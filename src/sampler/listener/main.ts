import { closeSync, fstatSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, type Socket } from 'node:net';
import { resourceLimit, Rlimit, tryLock } from '../../native/libc';
import { openKernelEvents, type KernelEvents } from '../../sources/events/kernel-events';
import type { ExitRecord } from '../../sources/events/exit-records';
import type { ProcessEvent as KernelEvent } from '../../sources/events/process-events';
import { monotonicUs } from '../../sources/proc/clock';
import { isUnavailable, type Unavailable } from '../../sources/source';
import { leaveJob } from '../leave-job';
import { reasonOf, warn } from '../log';
import { DEFAULT_SETTINGS, loadSettings, type Settings } from '../settings';
import { existingThreads } from './existing-threads';
import type * as NodeChargesModule from './node-charges';
import type { ChargeReader } from './node-charges';
import type * as NodeReadingsModule from './node-readings';
import type { NodeReadings } from './node-readings';
import { LeftRuns } from './left-runs';
import { newProcessTable } from './process-table';
import { decodeRequest, encodeReply, lineSplitter, type Reply, type Request } from './protocol';
import { newRouter } from './router';
import { listenerPaths } from './socket-path';

/**
 * The listener: the one process of a node that hears what the kernel tells of all its processes, for all samplers.
 *
 *   node main.js SETTINGS
 *
 * The first sampler that finds none starts it; it ends when no sampler has been there for a while. Netlink gives every
 * event of the machine to everyone who listens: with one listener each event is read once, and a sampler gets those of
 * its own job.
 */

/** The kernel keeps what comes between two looks: 16 MiB hold some ten thousand ends of processes. */
const LOOK_EVERY_MS = 100;
const RECEIVE_BYTES = 16 * 1024 * 1024;
/** Who started it is on the way. */
const FIRST_FOLLOWER_MS = 10_000;
/** A sampler that takes nothing for so long must not fill our memory. */
const MOST_UNSENT_BYTES = 64 * 1024 * 1024;
const SPEND_OF_CPU_LIMIT = 0.5;
/** The node-wide sources are read from this age on. */
const BEFORE_NODE_MS = 5000;

const load = createRequire(__filename);

interface Follower {
  readonly socket: Socket;
  unsent: string[];
}

function usableSettings(path: string): Settings {
  try {
    return loadSettings(path);
  } catch (error) {
    warn(reasonOf(error));
    return DEFAULT_SETTINGS;
  }
}

/** Whether descriptor 3 is the file at `path`: who started us has locked it. */
function isInherited(path: string): boolean {
  try {
    const inherited = fstatSync(3);
    const { dev, ino } = statSync(path);
    return inherited.dev === dev && inherited.ino === ino;
  } catch {
    return false;
  }
}

/** null: another listener serves this node. */
function takeLock(path: string): number | null {
  if (isInherited(path)) return 3;
  const descriptor = openSync(path, 'a', 0o600);
  if (tryLock(descriptor)) return descriptor;
  closeSync(descriptor);
  return null;
}

function reasonFor(state: 'open' | Unavailable): string | null {
  return state === 'open' ? null : state.unavailable;
}

function serve(settings: Settings, settingsPath: string, kernel: KernelEvents | Unavailable): void {
  const { socket: path } = listenerPaths(settings);
  const opened = isUnavailable(kernel) ? null : kernel;
  const hello: Reply = {
    kind: 'hello',
    events: isUnavailable(kernel) ? kernel.unavailable : reasonFor(kernel.processEvents),
    records: isUnavailable(kernel) ? kernel.unavailable : reasonFor(kernel.exitRecords),
  };
  // After the sockets have been opened: a thread that ends in between is told of, and taken off the list.
  const table = newProcessTable(opened === null ? new Map() : existingThreads());
  const followers = new Set<Follower>();
  const router = newRouter<Follower>((follower, reply) => follower.unsent.push(encodeReply(reply)));
  // Short work must not pay for a round of all sources, nor for their code.
  let charges: ChargeReader | null = null;
  let node: NodeReadings | null = null;

  function readings(): NodeReadings {
    node ??= (load('./node-readings') as typeof NodeReadingsModule).readNode(settings, settingsPath, publish);
    return node;
  }

  function nodeReply(id: number | null): Reply {
    charges ??= (load('./node-charges') as typeof NodeChargesModule).openCharges(settings);
    return { kind: 'node', id, charges: charges.read(), gpu: node?.gpu() ?? [] };
  }

  function publish(): void {
    if (followers.size === 0) return;
    const reply = encodeReply(nodeReply(null));
    for (const follower of followers) {
      follower.unsent.push(reply);
      flush(follower);
    }
  }

  let stayUntilMs = Date.now() + FIRST_FOLLOWER_MS;
  let lingerMs = settings.listener_linger * 1000;

  function flush(follower: Follower): void {
    if (follower.unsent.length === 0) return;
    follower.socket.write(follower.unsent.join(''));
    follower.unsent = [];
    if (follower.socket.writableLength > MOST_UNSENT_BYTES) follower.socket.destroy();
  }

  function look(): void {
    if (opened === null) return;
    const events: KernelEvent[] = [];
    const records: ExitRecord[] = [];
    const { lostEvents, lostRecords } = opened.drain({
      event: (event) => events.push(event),
      record: (record) => records.push(record),
    });
    table.records(records);
    router.events(table.events(events.sort((a, b) => a.at - b.at)));
    // After the events: these, too, are remembered for nobody who comes later, since what was lost is among them.
    if (lostEvents) router.lost('events', monotonicUs());
    if (lostRecords) router.lost('records', monotonicUs());
    for (const follower of followers) flush(follower);
  }

  function answer(follower: Follower, request: Request): void {
    switch (request.kind) {
      case 'follow':
        look();
        router.follow(follower, request.pids);
        break;
      case 'sync':
        look();
        follower.unsent.push(encodeReply({ kind: 'synced', id: request.id }));
        break;
      case 'node':
        follower.unsent.push(encodeReply(nodeReply(request.id)));
        break;
      case 'read':
        void readings()
          .read(request.source, request.pids)
          .then((values) => {
            const absent = isUnavailable(values);
            follower.unsent.push(
              encodeReply({
                kind: 'values',
                id: request.id,
                readings: absent ? [] : values,
                unavailable: absent ? values.unavailable : null,
              }),
            );
            flush(follower);
          });
        break;
      case 'retire':
        lingerMs = 0;
        break;
      default:
    }
    flush(follower);
  }

  const server = createServer((socket) => {
    const follower: Follower = { socket, unsent: [] };
    followers.add(follower);
    socket.setEncoding('utf8');
    const take = lineSplitter((line) => {
      const request = decodeRequest(line);
      if (request !== null) answer(follower, request);
    }, 1024 * 1024);
    socket.on('data', take as (chunk: string | Buffer) => void);
    const leave = (): void => {
      if (!followers.delete(follower)) return;
      router.leave(follower);
      stayUntilMs = Date.now() + lingerMs;
    };
    socket.on('error', leave).on('close', leave);
    socket.write(encodeReply(hello));
  });

  const left = new LeftRuns(settings, settingsPath);
  let ending = false;

  function end(): void {
    if (ending) return;
    ending = true;
    rmSync(path, { force: true });
    left.close();
    charges?.close();
    void (node?.close() ?? Promise.resolve()).finally(() => process.exit(0));
  }

  // Whoever left this one behind held the lock that is ours now.
  rmSync(path, { force: true });
  server.on('error', (error) => {
    warn(`${path}: ${reasonOf(error)}`);
    process.exit(1);
  });
  server.listen(path);
  process.on('SIGTERM', end);
  const cpuLimit = resourceLimit(Rlimit.CPU).soft;
  setTimeout(() => void readings(), BEFORE_NODE_MS);
  setInterval(() => {
    look();
    const { user, system } = process.cpuUsage();
    const idle = followers.size === 0 && Date.now() > stayUntilMs;
    // Under a job's limit: whoever is served goes on with a successor.
    if (idle || (user + system) / 1e6 > cpuLimit * SPEND_OF_CPU_LIMIT) end();
  }, LOOK_EVERY_MS);
}

function main(): void {
  const settings = usableSettings(process.argv[2] ?? '');
  process.umask(0o077);
  process.chdir('/');
  process.on('SIGXFSZ', () => undefined);
  const { directory, lock } = listenerPaths(settings);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (takeLock(lock) === null) return;
  leaveJob();
  const path = settings.initial_network_namespace;
  serve(
    settings,
    process.argv[2] ?? '',
    openKernelEvents({ namespacePath: path === '' ? null : path, receiveBytes: RECEIVE_BYTES }),
  );
}

try {
  main();
} catch (error) {
  warn(`listener: ${reasonOf(error)}`);
  process.exit(1);
}
