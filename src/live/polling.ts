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
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  let again = false;

  const look = async (): Promise<void> => {
    try {
      const snapshot = await source(stopping.signal);
      if (!stopping.signal.aborted) onSnapshot(snapshot);
    } catch (error) {
      if (!stopping.signal.aborted) onError(error);
    }
  };
  const schedule = (): void => {
    const age = performance.now() - began;
    const next = again ? 0 : (Math.floor(age / intervalMs) + 1) * intervalMs - age;
    again = false;
    timer = setTimeout(tick, next);
  };
  const tick = (): void => {
    timer = null;
    running = look().finally(() => {
      running = null;
      if (!stopping.signal.aborted) schedule();
    });
  };
  tick();
  return {
    wake: () => {
      if (running !== null) again = true;
      else if (timer !== null) {
        clearTimeout(timer);
        tick();
      }
    },
    stop: async () => {
      stopping.abort();
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
}
