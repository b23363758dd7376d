import { setTimeout as sleep } from 'node:timers/promises';
import { cellDirectory } from '../gridengine/find-cell';
import type { Settings } from '../record/settings';
import type { LiveCell } from './poll-tools';
import { newPollState, poll, type PollState } from './poller';
import type { Snapshot } from './snapshot';

export interface Polling {
  /** Polls now rather than at the next time, as someone wants to see something else. */
  wake(): void;
  /** Stops, and aborts a running query; resolves when it has ended. */
  stop(): Promise<void>;
}

export type Source = (signal: AbortSignal) => Promise<Snapshot>;

/** A source that asks qmaster itself and keeps its state between polls; for the server, with the site's snapshot. */
export function ownSource({ cell, cluster, rules, tools }: LiveCell, pending: () => boolean): Source {
  const named = cell === null ? {} : { cell: cellDirectory(cell) };
  let state: PollState = newPollState(cluster);
  return async (signal) => {
    state = await poll(state, rules, tools, pending(), signal);
    return { ...state.snapshot, ...named };
  };
}

/**
 * Takes a snapshot every poll_interval, at absolute times so that delays never add up, and gives it to `onSnapshot`.
 * Never two at once: a source that takes longer than the interval skips times. Errors of the source or of `onSnapshot`
 * go to `onError`, and polling continues.
 */
export function startPolling(
  { poll_interval: interval }: Pick<Settings, 'poll_interval'>,
  source: Source,
  onSnapshot: (snapshot: Snapshot) => void,
  onError: (error: unknown) => void,
): Polling {
  const intervalMs = interval * 1000;
  const began = performance.now();
  const stopping = new AbortController();
  const isStopped = (): boolean => stopping.signal.aborted;
  /** Ends the pause before the next poll, also one that has not begun yet. */
  let waking = new AbortController();

  const run = async (): Promise<void> => {
    while (!isStopped()) {
      waking = new AbortController();
      try {
        const snapshot = await source(stopping.signal);
        if (!isStopped()) onSnapshot(snapshot);
      } catch (error) {
        if (!isStopped()) onError(error);
      }
      const age = performance.now() - began;
      const pause = (Math.floor(age / intervalMs) + 1) * intervalMs - age;
      await sleep(pause, undefined, { signal: waking.signal }).catch(() => undefined);
    }
  };
  const ended = run();
  return {
    wake: () => waking.abort(),
    stop: async () => {
      stopping.abort();
      waking.abort();
      await ended;
    },
  };
}
