/** Where the time of a CPU goes, in the order of the fields of `/proc/stat` (proc_stat(5)). */
export const CPU_MODES = [
  'user',
  'nice',
  'system',
  'idle',
  'iowait',
  'irq',
  'softirq',
  'steal',
  'guest',
  'guest_nice',
] as const;

export type CpuMode = (typeof CPU_MODES)[number];

/** Seconds since boot in each mode. The time in guest and guest_nice is also part of user and nice. */
export type CpuTimes = Readonly<Record<CpuMode, number>>;

export interface Utilisation {
  /** Neither idle nor waiting for I/O. */
  readonly busy: number;
  readonly modes: CpuTimes;
}

const inAllTime = (mode: CpuMode): boolean => mode !== 'guest' && mode !== 'guest_nice';

/**
 * Percent of the time between two readings; null when none has passed. idle, iowait and steal go backwards now and then
 * (proc_stat(5)): that counts as no time.
 */
export function utilisation(before: CpuTimes, after: CpuTimes): Utilisation | null {
  const passed = (mode: CpuMode): number => Math.max(0, after[mode] - before[mode]);
  const all = CPU_MODES.filter(inAllTime).reduce((sum, mode) => sum + passed(mode), 0);
  if (all <= 0) return null;
  const percent = (mode: CpuMode): number => Math.min(100, (100 * passed(mode)) / all);
  const modes = Object.fromEntries(CPU_MODES.map((mode) => [mode, percent(mode)])) as Record<CpuMode, number>;
  return { busy: Math.max(0, 100 - modes.idle - modes.iowait), modes };
}
