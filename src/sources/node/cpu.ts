import { readText, whyUnreadable } from '../files';
import { natural, naturals, words } from '../numbers';
import { TICKS_PER_SECOND } from '../proc/clock';
import { metricsOf, reading, readingsByKey, source, type Metric, type Reading } from '../source';
import { CPU_MODES, utilisation, type CpuMode, type CpuTimes } from './cpu-times';

const { gauge, counter } = metricsOf('cpu');

const SPENT: Readonly<Record<CpuMode, string>> = {
  user: 'in user mode, guests included',
  nice: 'in user mode at a raised nice value, guests included',
  system: 'in the kernel',
  idle: 'idle',
  iowait: 'idle while a task of that CPU waited for I/O',
  irq: 'in hardware interrupts',
  softirq: 'in softirqs',
  steal: 'while the hypervisor ran something else',
  guest: 'as a virtual CPU of a guest',
  guest_nice: 'as a virtual CPU of a guest at a raised nice value',
};

const PERCENT = { resolution: 100 };
const ONE_CPU = { resolution: 100, instance: 'cpu' };

const byMode = (describe: (mode: CpuMode) => Metric): Readonly<Record<CpuMode, Metric>> =>
  Object.fromEntries(CPU_MODES.map((mode) => [mode, describe(mode)])) as Record<CpuMode, Metric>;

const SECONDS = byMode((mode) => counter(mode, 'seconds', `Time of all CPUs ${SPENT[mode]}.`, PERCENT));
const SHARE = byMode((mode) =>
  gauge(mode, 'percent', `Share of all CPUs' time since the last reading ${SPENT[mode]}.`, PERCENT),
);
const BUSY = gauge(
  'busy',
  'percent',
  "Share of all CPUs' time since the last reading neither idle nor in iowait.",
  PERCENT,
);
const ONE_BUSY = gauge(
  'per_cpu_busy',
  'percent',
  "Share of each CPU's time since the last reading neither idle nor in iowait.",
  ONE_CPU,
);
const ONE_SECONDS = byMode((mode) =>
  counter(`per_cpu_${mode}`, 'seconds', `Time of each CPU ${SPENT[mode]}.`, ONE_CPU),
);
const LOGICAL = gauge('logical', 'count', 'Logical CPUs that are online.');
const BOOT = gauge(
  'boot',
  'timestamp',
  'When the system booted; the kernel computes it anew, so it varies by a second.',
);

const EVENTS: Readonly<Record<string, Metric>> = {
  ctxt: counter('context_switches', 'count', 'Context switches on all CPUs.'),
  intr: counter('interrupts', 'count', 'Hardware interrupts served.'),
  softirq: counter('softirqs', 'count', 'Softirqs served.'),
  processes: counter('forks', 'count', 'Processes and threads ever created.'),
  procs_running: gauge('procs_running', 'count', 'Tasks on a CPU or waiting for one.'),
  procs_blocked: gauge('procs_blocked', 'count', 'Tasks waiting for I/O to complete.'),
  btime: BOOT,
};

/** `/proc/stat`. */
interface CpuStat {
  /** All CPUs together. */
  readonly total: CpuTimes;
  /** By the number of the CPU; those online only. */
  readonly cpus: ReadonlyMap<string, CpuTimes>;
  /** The first number of the other lines, by their first word. */
  readonly others: ReadonlyMap<string, number>;
}

/** Kernels before 2.6.33 print fewer modes; what they lack is 0. */
function parseTimes(line: string): CpuTimes | null {
  const ticks = naturals(words(line).slice(1, 1 + CPU_MODES.length));
  if (ticks === null || ticks.length < 4) return null;
  const seconds = CPU_MODES.map((mode, index) => [mode, (ticks[index] ?? 0) / TICKS_PER_SECOND]);
  return Object.fromEntries(seconds) as CpuTimes;
}

/** Parses `/proc/stat`; null without its line for all CPUs. Lines that make no sense are left out. */
export function parseCpuStat(text: string): CpuStat | null {
  let total: CpuTimes | null = null;
  const cpus = new Map<string, CpuTimes>();
  const others = new Map<string, number>();
  for (const line of text.split('\n')) {
    const blank = line.indexOf(' ');
    const key = line.slice(0, Math.max(0, blank));
    if (key === 'cpu') total = parseTimes(line);
    else if (/^cpu\d{1,6}$/.test(key)) {
      const times = parseTimes(line);
      if (times !== null) cpus.set(key.slice(3), times);
    } else if (Object.hasOwn(EVENTS, key)) {
      // "intr" goes on with a number for each interrupt: kilobytes on a large machine.
      const end = line.indexOf(' ', blank + 1);
      const number = natural(line.slice(blank + 1, end < 0 ? undefined : end));
      if (number !== null) others.set(key, number);
    }
  }
  return total === null ? null : { total, cpus, others };
}

/** Readings of one `/proc/stat`, and what was used since an earlier one (null: there is none). */
export function cpuReadings(stat: CpuStat, before: CpuStat | null, perCpuTimes: boolean): readonly Reading[] {
  const readings: Reading[] = CPU_MODES.map((mode) => reading(SECONDS[mode], stat.total[mode]));
  const used = before === null ? null : utilisation(before.total, stat.total);
  if (used !== null) {
    readings.push(reading(BUSY, used.busy));
    for (const mode of CPU_MODES) readings.push(reading(SHARE[mode], used.modes[mode]));
  }
  for (const [cpu, times] of stat.cpus) {
    const earlier = before?.cpus.get(cpu);
    const usedHere = earlier === undefined ? null : utilisation(earlier, times);
    if (usedHere !== null) readings.push(reading(ONE_BUSY, usedHere.busy, cpu));
    if (perCpuTimes) for (const mode of CPU_MODES) readings.push(reading(ONE_SECONDS[mode], times[mode], cpu));
  }
  if (stat.cpus.size > 0) readings.push(reading(LOGICAL, stat.cpus.size));
  return [...readings, ...readingsByKey(EVENTS, stat.others)];
}

export const cpu = source({
  name: 'cpu',
  reads: ['/proc/stat'],
  metrics: [
    ...Object.values(SECONDS),
    BUSY,
    ...Object.values(SHARE),
    ONE_BUSY,
    ...Object.values(ONE_SECONDS),
    LOGICAL,
    ...Object.values(EVENTS),
  ],
  // Ten more series for each CPU: 1,280 on a node of 128.
  options: { per_cpu_times: false },
  open: ({ proc, options }) => {
    const path = `${proc}/stat`;
    let before = parseCpuStat(readText(path) ?? '');
    if (before === null) return whyUnreadable(path);
    return {
      read: () => {
        const stat = parseCpuStat(readText(path) ?? '');
        if (stat === null) return whyUnreadable(path);
        const readings = cpuReadings(stat, before, options.per_cpu_times === true);
        before = stat;
        return readings;
      },
      close: () => undefined,
    };
  },
});
