import { existsSync, opendirSync } from 'node:fs';
import { textOfUntrusted } from '../../base/read-untrusted';
import { readLink } from '../files';
import { parseFdinfo, type DrmClient, type DrmEngine } from '../node/drm-fdinfo';
import { metricsOf, reading, unavailable, USUAL, type Place, type ProcessSource, type Reading } from '../source';

const { gauge, counter } = metricsOf('drmprocess', 'process');

const VIDEO = gauge(
  'memory',
  'bytes',
  "Video memory that a process's DRM clients hold (fdinfo); a shared buffer counts in each.",
  { instance: 'gpu' },
);
const SYSTEM = gauge(
  'system_memory',
  'bytes',
  "System memory that a process's DRM clients hold for the GPU (fdinfo: gtt, system).",
  { instance: 'gpu' },
);
const BUSY = counter(
  'busy',
  'seconds',
  "Time of the GPU's engines that a process's DRM clients used (fdinfo), ended clients included.",
  { resolution: 1000, instance: 'gpu/engine' },
);

/** Drivers print some 2 KiB. */
const MOST_FDINFO_BYTES = 64 * 1024;

interface Held {
  readonly pid: number;
  readonly gpu: string;
  readonly key: string;
  readonly client: DrmClient;
}

/** The first `most` descriptors of a process. */
function descriptorsOf(proc: string, pid: number, most: number): readonly string[] {
  const names: string[] = [];
  try {
    const directory = opendirSync(`${proc}/${pid}/fd`);
    try {
      for (let entry = directory.readSync(); entry !== null && names.length < most; entry = directory.readSync())
        names.push(entry.name);
    } finally {
      directory.closeSync();
    }
  } catch {
    // It has ended.
  }
  return names.sort();
}

/** How much of a job is looked at. What is beyond it is missing in that job's figures. */
interface Bounds {
  readonly descriptors: number;
  readonly untilMs: number;
}

/** DRM clients of these processes, each once, with the first process of the list that has it. */
function clientsOf(
  { proc, now }: Pick<Place, 'proc' | 'now'>,
  pids: readonly number[],
  { descriptors, untilMs }: Bounds,
  about: ((pid: number) => void) | undefined,
): readonly Held[] {
  const held = new Map<string, Held>();
  for (const pid of pids) {
    about?.(pid);
    for (const fd of descriptorsOf(proc, pid, descriptors)) {
      if (now() > untilMs) return [...held.values()];
      // DRM files only: to print its fdinfo, another file may take locks.
      if (readLink(`${proc}/${pid}/fd/${fd}`)?.startsWith('/dev/dri/') !== true) continue;
      const client = parseFdinfo(textOfUntrusted(`${proc}/${pid}/fdinfo/${fd}`, MOST_FDINFO_BYTES) ?? '');
      if (client === null) continue;
      const gpu = client.pci ?? client.driver;
      const key = `${gpu} ${client.client ?? `${pid}/${fd}`}`;
      if (!held.has(key)) held.set(key, { pid, gpu, key, client });
    }
  }
  return [...held.values()];
}

interface SeenEngine {
  readonly busy: number;
  readonly total: number;
  readonly atMs: number;
}

/** Seconds that an engine has worked since it was seen last; a counter that fell has begun anew. */
function secondsSince(before: SeenEngine | undefined, engine: DrmEngine, atMs: number): number {
  if ('busyNs' in engine) {
    const from = before === undefined || engine.busyNs < before.busy ? 0 : before.busy;
    return (engine.busyNs - from) / 1e9;
  }
  // The rate of the engine's clock can't be read: its total cycles stand for the time since the last reading.
  if (before === undefined || engine.cycles < before.busy || engine.totalCycles <= before.total) return 0;
  const share = Math.min(1, (engine.cycles - before.busy) / (engine.totalCycles - before.total));
  return (share * Math.max(0, atMs - before.atMs)) / 1000;
}

/** Time used by the engines of one process, ended clients included. */
interface UsedEngines {
  readonly seconds: Map<string, number>;
  askedAtMs: number;
}

/** Engines and processes that were not seen for this long are forgotten. */
const FORGET_MS = 600_000;

/** GPU memory and time by process, of any driver that prints them (amdgpu, i915, xe, nouveau, panfrost ...). */
export const drmProcess: ProcessSource = {
  ...USUAL,
  name: 'drmprocess',
  reads: ['/proc/PID/fd', '/proc/PID/fdinfo'],
  metrics: [VIDEO, SYSTEM, BUSY],
  blocking: true,
  options: {
    // For one process: a GPU program opens its DRM files early, and a look at one descriptor takes 5 us.
    most_descriptors: 4096,
    // For one job; well below helper_deadline.
    most_seconds: 2,
  },
  open: ({ proc, root, now, options }) => {
    if (!existsSync(`${root.replace(/\/$/, '')}/dev/dri`)) return unavailable('no /dev/dri: no GPU with a DRM driver');
    const seen = new Map<string, SeenEngine>();
    const used = new Map<number, UsedEngines>();
    const usedBy = (pid: number, atMs: number): UsedEngines => {
      const known = used.get(pid) ?? { seconds: new Map<string, number>(), askedAtMs: atMs };
      known.askedAtMs = atMs;
      used.set(pid, known);
      return known;
    };
    return {
      read: (pids, about) => {
        const atMs = now();
        for (const [key, engine] of seen) if (atMs - engine.atMs > FORGET_MS) seen.delete(key);
        for (const [pid, engines] of used) if (atMs - engines.askedAtMs > FORGET_MS) used.delete(pid);

        const memory = new Map<string, Reading>();
        const add = (metric: string, { gpu, pid }: Held, bytes: number | null): void => {
          if (bytes === null) return;
          const key = `${metric} ${gpu} ${pid}`;
          memory.set(key, { metric, instance: gpu, pid, value: (memory.get(key)?.value ?? 0) + bytes });
        };
        const bounds = {
          descriptors: Number(options.most_descriptors),
          untilMs: atMs + Number(options.most_seconds) * 1000,
        };
        for (const held of clientsOf({ proc, now }, pids, bounds, about)) {
          add(VIDEO.name, held, held.client.videoMemoryBytes);
          add(SYSTEM.name, held, held.client.systemMemoryBytes);
          const { seconds } = usedBy(held.pid, atMs);
          for (const engine of held.client.engines) {
            const key = `${held.key} ${engine.name}`;
            const more = secondsSince(seen.get(key), engine, atMs);
            const [busy, total] = 'busyNs' in engine ? [engine.busyNs, 0] : [engine.cycles, engine.totalCycles];
            seen.set(key, { busy, total, atMs });
            const instance = `${held.gpu}/${engine.name}`;
            seconds.set(instance, (seconds.get(instance) ?? 0) + more);
          }
        }
        const busy = pids.flatMap((pid) =>
          [...(used.get(pid)?.seconds ?? [])].map(([instance, value]) => ({ ...reading(BUSY, value, instance), pid })),
        );
        return [...memory.values(), ...busy];
      },
      close: () => undefined,
    };
  },
};
