import { parseCategory, requestedSeconds, type Category } from '../gridengine/category';
import type { JobRecord } from '../sampler/record';
import { adviseRequest, HEADROOM, roundRequest, type Advice } from './advice';
import { needOf } from './fit';
import { formatBytes, formatDuration, formatPercent } from './units';
import type { Cause } from './why/hypothesis';
import type { Why } from './why/why';

/** What to ask for next time: a whole line, and why each part of it is as it is. */
export interface NextTime {
  /** "qsub -l h_vmem=6G,h_rt=16:00:00" */
  readonly line: string;
  /** What is changed, in words; without the memory's where `memory` tells. */
  readonly reasons: readonly string[];
  /** What `h_vmem` rests on; null: it stays as it was. */
  readonly memory: Advice | null;
}

/** A job that was stopped for its time may have been at its beginning: half as much again would hardly help. */
export const TIME_RAISE = 2;

const MINUTE = 60;
const HOUR = 3600;
/** Round times that people would write: [below, step]. */
const STEPS: readonly (readonly [number, number])[] = [
  [10 * MINUTE, MINUTE],
  [HOUR, 5 * MINUTE],
  [24 * HOUR, 30 * MINUTE],
  [Infinity, HOUR],
];

/** The next round time, never shorter, as Grid Engine reads it: "0:10:00", "36:00:00". */
export function roundTime(seconds: number): { readonly seconds: number; readonly text: string } {
  const step = STEPS.find(([below]) => seconds < below)?.[1] ?? HOUR;
  const rounded = Math.max(1, Math.ceil(seconds / step)) * step;
  const minutes = String(Math.floor(rounded / MINUTE) % 60).padStart(2, '0');
  return { seconds: rounded, text: `${Math.floor(rounded / HOUR)}:${minutes}:00` };
}

const UNITS = [
  ['T', 1024 ** 4],
  ['G', 1024 ** 3],
  ['M', 1024 ** 2],
  ['K', 1024],
] as const;

/** Bytes as Grid Engine reads them, to the byte: "4G", "1536M". */
export function exactSize(bytes: number): string {
  const unit = UNITS.find(([, size]) => bytes >= size && bytes % size === 0);
  return unit === undefined ? String(Math.ceil(bytes)) : `${bytes / unit[1]}${unit[0]}`;
}

/** Which limits of time stand behind a cause: a soft one grows with the hard one. */
const TIMES: Partial<Readonly<Record<Cause, readonly string[]>>> = {
  h_rt: ['h_rt', 's_rt'],
  s_rt: ['h_rt', 's_rt'],
  'cpu-time': ['h_cpu', 's_cpu'],
};

interface Part {
  readonly text: string;
  readonly reason: string;
}

function timeParts(category: Category | null, causes: readonly Cause[]): Part[] {
  if (category === null) return [];
  const complexes = new Set(causes.flatMap((cause) => TIMES[cause] ?? []));
  return [...complexes].flatMap((complex) => {
    const asked = requestedSeconds(category, complex);
    if (asked === null) return [];
    const { text, seconds } = roundTime(asked * TIME_RAISE);
    const reason = `${complex}: ${formatDuration(seconds)}, twice the limit; how long it would have run is not known, so double it again if that is too short`;
    return [{ text: `${complex}=${text}`, reason }];
  });
}

/** The present request, or what was measured where that is more. */
function unchangedMemory(records: readonly JobRecord[]): Part | null {
  const perSlot = records.map((record) => {
    const slots = record.h_vmem?.per === 'job' ? 1 : Math.max(1, record.host_slots ?? record.slots ?? 1);
    return { asked: record.h_vmem?.request_bytes ?? null, need: (needOf(record)?.bytes ?? 0) / slots };
  });
  const asked = perSlot.reduce((most, one) => Math.max(most, one.asked ?? 0), 0);
  const need = perSlot.reduce((most, one) => Math.max(most, one.need), 0);
  if (asked === 0) return null;
  if (need * HEADROOM <= asked) return { text: `h_vmem=${exactSize(asked)}`, reason: 'h_vmem as before' };
  const { text } = roundRequest(need * HEADROOM);
  return {
    text: `h_vmem=${text}`,
    reason: `h_vmem: the peak so far (${formatBytes(need)} per slot) and ${formatPercent(HEADROOM - 1)} room`,
  };
}

const categoryOf = (records: readonly JobRecord[]): Category | null => {
  const text = records.find((record) => record.grid_engine?.category != null)?.grid_engine?.category;
  return text === undefined || text === null ? null : parseCategory(text);
};

/**
 * A whole `-l` line that would have held, from all hosts and tasks of a job: per slot or per job as the complex is
 * consumed, never less than was measured. null: nothing can be said, or nothing needs changing.
 */
export function nextTime(records: readonly JobRecord[], whys: readonly (Why | null)[] = []): NextTime | null {
  const causes = [...new Set(whys.flatMap((why) => (why?.confidence === 'unknown' ? [] : (why?.causes ?? []))))];
  const times = timeParts(categoryOf(records), causes);
  const advice = adviseRequest(records);
  if (advice !== null && (advice.kind !== 'keep' || times.length === 0)) {
    if (advice.kind === 'keep') return null;
    return {
      line: `qsub -l ${[advice.request, ...times.map(({ text }) => text)].join(',')}`,
      reasons: times.map(({ reason }) => reason),
      memory: advice,
    };
  }
  if (times.length === 0) return null;
  const memory = unchangedMemory(records);
  const parts = [...(memory === null ? [] : [memory]), ...times];
  return {
    line: `qsub -l ${parts.map(({ text }) => text).join(',')}`,
    reasons: parts.map(({ reason }) => reason),
    memory: null,
  };
}
