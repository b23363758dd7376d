import type { TickReadings } from '../processes/tick';
import type { NodeReply } from '../listener/protocol';
import type { ListenerLink } from '../listener/client';
import type { RunDescription } from '../job/run-description';
import type { SeriesBuffer } from '../series/series-buffer';
import type { Settings } from '../../record/settings';

export type JobMetrics = Readonly<Record<string, number>>;

/** What all parts share. */
export interface PartContext {
  readonly run: RunDescription;
  readonly settings: Settings;
  readonly series: SeriesBuffer;
  /** When we began to read the job, on the clock of `Look.nowMs`. */
  readonly begunMs: number;
  /** Metrics that a predecessor left, to which the part's own are added; empty: there was none. */
  readonly before: JobMetrics;
}

/** One reading of the job. */
export interface Look {
  /** ms since the epoch. */
  readonly atMs: number;
  /** ms of a clock that never goes back. */
  readonly nowMs: number;
  readonly readings: TickReadings;
  /** CPU time of the job so far, in seconds. */
  readonly cpuSeconds: number;
  /** null: no listener at present. */
  readonly link: ListenerLink | null;
}

/** One kind of figures of a job beyond its processes' memory and CPU time: each adds its own metrics to the record. */
export interface FigurePart {
  /** The job's first process has started. */
  readonly started?: (rootPid: number) => void;
  readonly look?: (look: Look) => void;
  /** The node's figures, as the listener sends them. */
  readonly node?: (reply: NodeReply) => void;
  /** The last reading; the epilog waits meanwhile. */
  readonly finish?: () => void;
  readonly metrics: () => JobMetrics;
  /** What the record charts of these figures, as they are now. */
  readonly charted?: () => JobMetrics;
  /** The kernel itself counts from the job's beginning: what a predecessor saw is not to be added. */
  readonly absolute?: boolean;
  readonly notes: () => readonly string[];
  readonly close?: () => void;
}

/** Reads every `intervalMs`, and once more at the end. */
export function readEvery(intervalMs: number, read: (atMs: number) => void): Pick<FigurePart, 'look' | 'finish'> {
  let dueMs = 0;
  return {
    look: ({ atMs, nowMs }) => {
      if (nowMs < dueMs) return;
      dueMs = nowMs + intervalMs;
      read(atMs);
    },
    finish: () => {
      read(Date.now());
    },
  };
}

export const pidsOf = ({ counters }: TickReadings): readonly number[] =>
  [...counters.keys()].map((id) => Number.parseInt(id, 10));
