import { closeSync, openSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from '../../native/libc';
import type { Destination } from './destination';
import { reasonOf, warn } from '../../base/log';
import type { NodeStore } from '../node-store/node-store';
import { deliverRecords } from './outbox-feeder';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';

/**
 * The word of a node on its running jobs: their records so far go to the accounting DB every `heartbeat` seconds, so that
 * a login node can show them. Whichever sampler comes by when it is due carries it for all jobs of the node.
 *
 * `STATE/heartbeat` is an empty file; its time of change says when the next one is due. `STATE/heartbeat.lock` is held
 * by who is at it.
 */
export interface Heartbeat {
  /**
   * Call it after progress was saved to `store`, as often as you like. It returns at once unless a heartbeat is due and
   * nobody else is at it; `store` is used before it returns, and not later. Never throws or rejects.
   */
  beat(store: NodeStore, nowMs?: number): Promise<'not due' | 'elsewhere' | 'nothing' | 'delivered' | 'failed'>;
  /** Resolves when no delivery is under way, or does not end: a database on a dead file server can hang it for ever. */
  idle(): Promise<void>;
}

/** Nodes that started together must not stay together: each interval is up to so much shorter or longer. */
const JITTER = 0.2;
/** A record that old was saved by a sampler that has died since; recovery will tell of it. Samplers save every 20 s. */
const LEAST_PATIENCE_MS = 60_000;
const LONGEST_DELIVERY_MS = 30_000;

/** `destination` is asked before each heartbeat; where it throws, that one is left out. */
export function newHeartbeat(settings: Settings, destination: () => Destination = () => settings): Heartbeat {
  const intervalMs = settings.heartbeat * 1000;
  const due = join(settings.state_dir, 'heartbeat');
  let underWay: Promise<unknown> = Promise.resolve();
  let complained = false;

  function setDue(atMs: number): void {
    closeSync(openSync(due, 'a', 0o600));
    utimesSync(due, atMs / 1000, atMs / 1000);
  }

  function isDue(nowMs: number): boolean {
    const file = statSync(due, { throwIfNoEntry: false });
    if (file === undefined) {
      // Hosts that were installed, or booted, together begin anywhere within their first interval.
      setDue(nowMs + Math.random() * intervalMs);
      return false;
    }
    // Farther away than ever set: the clock was set back.
    return nowMs >= file.mtimeMs || file.mtimeMs - nowMs > intervalMs * (1 + JITTER) + 1000;
  }

  function complain(problem: string): void {
    if (!complained) warn(`the figures of running jobs can't be told to the accounting DB: ${problem}`);
    complained = true;
  }

  function recordsToTell(store: NodeStore, nowMs: number): string[] {
    const oldest = nowMs - Math.max(2 * intervalMs, LEAST_PATIENCE_MS);
    return store.running().flatMap(({ record }) => {
      const { status, revision } = JSON.parse(record) as JobRecord;
      return status === 'running' && revision >= oldest ? [record] : [];
    });
  }

  async function deliver(records: readonly string[], lock: number): Promise<'delivered' | 'failed'> {
    try {
      const problem = await deliverRecords(records, destination);
      if (problem !== null) complain(problem);
      else complained = false;
      return problem === null ? 'delivered' : 'failed';
    } finally {
      closeSync(lock);
    }
  }

  const beat: Heartbeat['beat'] = (store, nowMs = Date.now()) => {
    let lock: number | null = null;
    try {
      if (intervalMs === 0 || !isDue(nowMs)) return Promise.resolve('not due');
      lock = openSync(`${due}.lock`, 'a', 0o600);
      // Who waits for no lock may come when another has just been at it.
      const mine = tryLock(lock);
      if (mine && isDue(nowMs)) {
        setDue(nowMs + intervalMs * (1 - JITTER + 2 * JITTER * Math.random()));
        const records = recordsToTell(store, nowMs);
        if (records.length > 0) {
          const delivery = deliver(records, lock);
          lock = null;
          underWay = delivery;
          return delivery;
        }
      }
      return Promise.resolve(mine ? 'nothing' : 'elsewhere');
    } catch (error) {
      complain(reasonOf(error));
      return Promise.resolve('failed');
    } finally {
      if (lock !== null) closeSync(lock);
    }
  };

  return {
    beat,
    idle: async () => {
      const enough = new AbortController();
      await Promise.race([underWay, sleep(LONGEST_DELIVERY_MS, null, enough).catch(() => null)]);
      enough.abort();
    },
  };
}
