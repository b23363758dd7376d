import { closeSync, openSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockFile } from '../../native/libc';
import type { Destination } from './destination';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import type { NodeStore } from '../node-store/node-store';
import { deliverRecords } from './outbox-feeder';
import { ownStatus } from './node-status';
import type { NodeStatus } from '../../record/node-status';
import { recordOfJson } from '../../record/record';
import type { Settings } from '../../record/settings';

/** Each interval is shorter or longer by up to this share: nodes that started together must not stay in step. */
const JITTER = 0.2;
/** An older record is of a sampler that has died since; recovery will find it. Samplers save at least every 20 s. */
const LEAST_PATIENCE_MS = 60_000;
const LONGEST_DELIVERY_MS = 30_000;

/**
 * Sends the records so far of a node's running jobs to the accounting DB every `heartbeat` seconds, so that a login
 * node can show them, and with them the node's own status. The sampler that finds a heartbeat due delivers it for all
 * jobs of the node.
 *
 * `STATE/heartbeat` is an empty file; its mtime says when the next heartbeat is due. `STATE/heartbeat.lock` is held by
 * the process that delivers.
 */
export class Heartbeat {
  private readonly intervalMs: number;
  /** `STATE/heartbeat` */
  private readonly due: string;
  private underWay: Promise<unknown> = Promise.resolve();
  private complained = false;

  /** `destination` is asked before each heartbeat; if it throws, that heartbeat is left out. */
  constructor(
    private readonly settings: Settings,
    private readonly destination: () => Destination = () => settings,
  ) {
    this.intervalMs = settings.heartbeat * 1000;
    this.due = join(settings.state_dir, 'heartbeat');
  }

  /**
   * Call it after progress was saved to `store`, as often as you like. It returns at once unless a heartbeat is due and
   * nobody else delivers it; `store` is used before it returns, and not later. Never throws or rejects.
   */
  beat(store: NodeStore, nowMs = Date.now()): Promise<'not due' | 'elsewhere' | 'nothing' | 'delivered' | 'failed'> {
    let lock: number | null = null;
    try {
      if (this.intervalMs === 0 || !this.isDue(nowMs)) return Promise.resolve('not due');
      lock = lockFile(`${this.due}.lock`);
      if (lock === null) return Promise.resolve('elsewhere');
      // Another process may have delivered just before we got the lock.
      if (this.isDue(nowMs)) {
        this.setDue(nowMs + this.intervalMs * (1 - JITTER + 2 * JITTER * Math.random()));
        const records = this.newRecords(store, nowMs);
        if (records.length > 0) {
          const delivery = this.deliver(records, ownStatus(store, this.settings), lock);
          lock = null;
          this.underWay = delivery;
          return delivery;
        }
      }
      return Promise.resolve('nothing');
    } catch (error) {
      this.complain(reasonOf(error));
      return Promise.resolve('failed');
    } finally {
      if (lock !== null) closeSync(lock);
    }
  }

  /** Resolves when no delivery is under way, after 30 s at the latest: a dead file server can hang one for ever. */
  async idle(): Promise<void> {
    const enough = new AbortController();
    await Promise.race([this.underWay, sleep(LONGEST_DELIVERY_MS, null, enough).catch(() => null)]);
    enough.abort();
  }

  private setDue(atMs: number): void {
    closeSync(openSync(this.due, 'a', 0o600));
    utimesSync(this.due, atMs / 1000, atMs / 1000);
  }

  private isDue(nowMs: number): boolean {
    const file = statSync(this.due, { throwIfNoEntry: false });
    if (file === undefined) {
      // At a random time in the first interval: hosts may have been installed, or booted, together.
      this.setDue(nowMs + Math.random() * this.intervalMs);
      return false;
    }
    // Farther away than it is ever set: the clock was set back.
    return nowMs >= file.mtimeMs || file.mtimeMs - nowMs > this.intervalMs * (1 + JITTER) + 1000;
  }

  private newRecords(store: NodeStore, nowMs: number): string[] {
    const oldest = nowMs - Math.max(2 * this.intervalMs, LEAST_PATIENCE_MS);
    return store.running().flatMap(({ record }) => {
      const parsed = recordOfJson(record);
      return parsed.ok && parsed.value.status === 'running' && parsed.value.revision >= oldest ? [record] : [];
    });
  }

  private async deliver(
    records: readonly string[],
    status: NodeStatus | null,
    lock: number,
  ): Promise<'delivered' | 'failed'> {
    try {
      const problem = await deliverRecords(records, this.destination, status);
      if (problem !== null) this.complain(problem);
      else this.complained = false;
      return problem === null ? 'delivered' : 'failed';
    } finally {
      closeSync(lock);
    }
  }

  private complain(problem: string): void {
    if (!this.complained) warn(`the figures of running jobs can't be sent to the accounting DB: ${problem}`);
    this.complained = true;
  }
}
