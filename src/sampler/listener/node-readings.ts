import { startHelper, type Helper } from '../helper/helper';
import { reasonOf, warn } from '../../base/log';
import { NodeStore } from '../node-store/node-store';
import { newSeriesBuffer, type SeriesBatch } from '../series/series-buffer';
import type { Settings } from '../../record/settings';
import { chooseSource, helperDeadlines } from '../source-settings';
import { NODE_SOURCES } from '../../sources/registry';
import {
  isUnavailable,
  THIS_MACHINE,
  unavailable,
  type OpenSource,
  type Reading,
  type Source,
  type Unavailable,
} from '../../sources/source';

/** The node-wide sources, read once for all jobs, and kept in node.db. */
export interface NodeReadings {
  /** The last readings of the GPUs, all processes on them included. */
  gpu(): readonly Reading[];
  /** One reading of a source that may block, of these processes. */
  read(source: string, pids: readonly number[]): Promise<readonly Reading[] | Unavailable>;
  /** Reads and keeps the node's series from now on, and until `pause`. */
  resume(): void;
  pause(): void;
  /** Another process keeps the series from now on. */
  stopKeeping(): void;
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 1000;
/** Hardware may appear (a module loaded late), and file systems may be mounted. */
const OPEN_AGAIN_AFTER_MS = 600_000;
const SAVE_EVERY_MS = 60_000;
/** Batches kept while node.db can't be written. */
const MOST_UNSAVED = 10;

const CHARGED: readonly string[] = ['rapl', 'raplperf'];
const GPU: readonly string[] = ['nvidia', 'drm'];

interface Scheduled {
  readonly source: Source;
  readonly intervalMs: number;
  readonly options: ReturnType<typeof chooseSource>['options'];
  opened: OpenSource | null;
  dueMs: number;
  asked: boolean;
}

/** `publish`: there is something new for the samplers. */
export function readNode(settings: Settings, settingsPath: string, publish: () => void): NodeReadings {
  const buffer = newSeriesBuffer(NODE_SOURCES.flatMap(({ metrics }) => metrics));
  const begin = performance.now();
  const scheduled: readonly Scheduled[] = NODE_SOURCES.flatMap((source) => {
    const { enabled, intervalMs, options } = chooseSource(source, settings);
    return enabled ? [{ source, intervalMs, options, opened: null, dueMs: begin, asked: false }] : [];
  });
  const gpus = new Map<string, readonly Reading[]>();
  let helper: Helper | null = null;
  let store: NodeStore | null = null;
  let unsaved: SeriesBatch[] = [];
  let complained = false;
  let savedMs = begin;
  let timer: NodeJS.Timeout | null = null;
  let keeps = true;

  function helped(): Helper {
    helper ??= startHelper({ settingsPath, deadlineMs: helperDeadlines(NODE_SOURCES, settings) });
    return helper;
  }

  function take(one: Scheduled, readings: readonly Reading[] | Unavailable): void {
    if (isUnavailable(readings)) {
      one.opened?.close();
      one.opened = null;
      one.dueMs = performance.now() + OPEN_AGAIN_AFTER_MS;
      gpus.delete(one.source.name);
      return;
    }
    buffer.add(one.source.name, Date.now(), readings);
    if (GPU.includes(one.source.name)) gpus.set(one.source.name, readings);
    if (GPU.includes(one.source.name) || CHARGED.includes(one.source.name)) publish();
  }

  function look(one: Scheduled, nowMs: number): void {
    if (nowMs < one.dueMs || one.asked) return;
    one.dueMs += one.intervalMs * Math.max(1, Math.ceil((nowMs - one.dueMs) / one.intervalMs));
    if (one.source.blocking) {
      one.asked = true;
      void helped()
        .read(one.source.name)
        .then((readings) => {
          one.asked = false;
          take(one, readings);
        });
      return;
    }
    if (one.opened === null) {
      const opened = one.source.open({ ...THIS_MACHINE, options: one.options });
      if (isUnavailable(opened)) {
        take(one, opened);
        return;
      }
      one.opened = opened;
    }
    take(one, one.opened.read());
  }

  function save(): void {
    const batch = buffer.take();
    if (batch.length > 0 && keeps) unsaved.push(batch);
    unsaved = unsaved.slice(-MOST_UNSAVED);
    try {
      while (unsaved.length > 0) {
        store ??= new NodeStore(settings.state_dir);
        store.saveSeries(null, unsaved[0] as SeriesBatch);
        unsaved.shift();
      }
    } catch (error) {
      if (!complained) warn(`node.db: ${reasonOf(error)}; the node's own series are not kept`);
      complained = true;
      try {
        store?.close();
      } catch {
        // Nothing more to lose with it.
      }
      store = null;
    }
  }

  function tick(): void {
    const nowMs = performance.now();
    for (const one of scheduled) look(one, nowMs);
    if (nowMs - savedMs < SAVE_EVERY_MS) return;
    savedMs = nowMs;
    save();
  }

  function pause(): void {
    if (timer === null) return;
    clearInterval(timer);
    timer = null;
    save();
  }

  return {
    gpu: () => [...gpus.values()].flat(),
    read: (source, pids) =>
      NODE_SOURCES.some(({ name }) => name === source)
        ? Promise.resolve(unavailable(`${source} is read once for the node`))
        : helped().read(source, pids),
    resume: () => {
      timer ??= setInterval(tick, LOOK_EVERY_MS);
    },
    pause,
    stopKeeping: () => {
      save();
      keeps = false;
    },
    close: async () => {
      pause();
      store?.close();
      for (const { opened } of scheduled) opened?.close();
      await helper?.close();
    },
  };
}
