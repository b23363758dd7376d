import { monotonicMs } from '../../base/monotonic';
import { Helper } from '../helper/helper';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import { printable } from '../../base/printable';
import { KeptStore } from '../node-store/kept-store';
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

const LOOK_EVERY_MS = 1000;
/** Hardware may appear (a module loaded late), and file systems may be mounted. */
const OPEN_AGAIN_AFTER_MS = 600_000;
const SAVE_EVERY_MS = 60_000;
/** Batches kept while node.db can't be written. */
const MOST_UNSAVED = 10;

const LONGEST_REASON = 200;

const CHARGED: readonly string[] = ['rapl', 'raplperf'];
const GPU: readonly string[] = ['nvidia', 'drm'];

interface Scheduled {
  readonly source: Source;
  readonly intervalMs: number;
  readonly options: ReturnType<typeof chooseSource>['options'];
  opened: OpenSource | null;
  dueMs: number;
  asked: boolean;
  /** It should give readings: the site has switched it on by name, or it has given some. */
  expected: boolean;
}

/** The node-wide sources, read once for all jobs, and kept in node.db. */
export class NodeReadings {
  private readonly buffer = newSeriesBuffer(NODE_SOURCES.flatMap(({ metrics }) => metrics));
  private readonly scheduled: readonly Scheduled[];
  private readonly gpus = new Map<string, readonly Reading[]>();
  private readonly failing = new Map<string, string>();
  /** The failing sources as last saved in node.db (JSON). */
  private savedFailing: string | null = null;
  private helper: Helper | null = null;
  private readonly store: KeptStore;
  private unsaved: SeriesBatch[] = [];
  private complained = false;
  /** -Infinity: the first readings are saved at once. */
  private savedMs = -Infinity;
  private timer: NodeJS.Timeout | null = null;
  private keeps = true;

  /** `publish`: to be called when there is something new for the samplers. */
  constructor(
    private readonly settings: Settings,
    private readonly settingsPath: string,
    private readonly publish: () => void,
  ) {
    this.store = new KeptStore(settings.state_dir);
    const nowMs = monotonicMs();
    this.scheduled = NODE_SOURCES.flatMap((source) => {
      const { enabled, intervalMs, options } = chooseSource(source, settings);
      if (!enabled) return [];
      const expected = settings.sources[source.name]?.enabled === true;
      return [{ source, intervalMs, options, opened: null, dueMs: nowMs, asked: false, expected }];
    });
  }

  /** The last readings of the GPUs, all processes on them included. */
  gpu(): readonly Reading[] {
    return [...this.gpus.values()].flat();
  }

  /** Reads these processes once, by a source that may block. */
  read(source: string, pids: readonly number[]): Promise<readonly Reading[] | Unavailable> {
    return NODE_SOURCES.some(({ name }) => name === source)
      ? Promise.resolve(unavailable(`${source} is read once for the node`))
      : this.helped().read(source, pids);
  }

  /** Reads and keeps the node's series from now on, and until `pause`. */
  resume(): void {
    this.timer ??= setInterval(() => this.tick(), LOOK_EVERY_MS);
  }

  pause(): void {
    if (this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
    this.save();
  }

  /** Another process keeps the series from now on. */
  stopKeeping(): void {
    this.save();
    this.keeps = false;
  }

  async close(): Promise<void> {
    this.pause();
    this.store.close();
    for (const { opened } of this.scheduled) opened?.close();
    await this.helper?.close();
  }

  private helped(): Helper {
    this.helper ??= new Helper({
      settingsPath: this.settingsPath,
      deadlineMs: helperDeadlines(NODE_SOURCES, this.settings),
    });
    return this.helper;
  }

  private take(one: Scheduled, readings: readonly Reading[] | Unavailable): void {
    const { name } = one.source;
    if (isUnavailable(readings)) {
      one.opened?.close();
      one.opened = null;
      one.dueMs = monotonicMs() + OPEN_AGAIN_AFTER_MS;
      if (this.gpus.delete(name)) this.publish();
      if (one.expected) this.failing.set(name, printable(readings.unavailable, false).slice(0, LONGEST_REASON));
      return;
    }
    one.expected = true;
    this.failing.delete(name);
    this.buffer.add(name, Date.now(), readings);
    if (GPU.includes(name)) this.gpus.set(name, readings);
    if (GPU.includes(name) || CHARGED.includes(name)) this.publish();
  }

  private look(one: Scheduled, nowMs: number): void {
    if (nowMs < one.dueMs || one.asked) return;
    one.dueMs += one.intervalMs * Math.max(1, Math.ceil((nowMs - one.dueMs) / one.intervalMs));
    if (one.source.blocking) {
      one.asked = true;
      void this.helped()
        .read(one.source.name)
        .then((readings) => {
          one.asked = false;
          this.take(one, readings);
        });
      return;
    }
    if (one.opened === null) {
      const opened = one.source.open({ ...THIS_MACHINE, options: one.options });
      if (isUnavailable(opened)) {
        this.take(one, opened);
        return;
      }
      one.opened = opened;
    }
    this.take(one, one.opened.read());
  }

  private save(): void {
    const batch = this.buffer.take();
    if (batch.length > 0 && this.keeps) this.unsaved.push(batch);
    this.unsaved = this.unsaved.slice(-MOST_UNSAVED);
    try {
      for (let [first] = this.unsaved; first !== undefined; [first] = this.unsaved) {
        this.store.open().saveSeries(null, first);
        this.unsaved.shift();
      }
      if (this.keeps) this.saveFailing();
    } catch (error) {
      if (!this.complained) warn(`node.db: ${reasonOf(error)}; the node's own series are not kept`);
      this.complained = true;
      this.store.close();
    }
  }

  private saveFailing(): void {
    const sources = [...this.failing].map(([source, reason]) => ({ source, reason }));
    const text = JSON.stringify(sources);
    if (text === this.savedFailing) return;
    this.store.open().saveFailing(sources);
    this.savedFailing = text;
  }

  private tick(): void {
    const nowMs = monotonicMs();
    for (const one of this.scheduled) this.look(one, nowMs);
    if (nowMs - this.savedMs < SAVE_EVERY_MS) return;
    this.savedMs = nowMs;
    this.save();
  }
}
