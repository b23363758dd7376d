import { readText } from '../../sources/files';
import { CPU_MODES } from '../../sources/node/cpu-times';
import { parseCpuStat } from '../../sources/node/cpu';
import { openCpuCounter } from '../../native/perf-event';
import { parseMeminfo } from '../../sources/node/meminfo';
import { rapl } from '../../sources/node/rapl';
import { raplPerf } from '../../sources/node/rapl-perf';
import {
  isUnavailable,
  THIS_MACHINE,
  type OpenSource,
  type Place,
  type Reading,
  type Source,
} from '../../sources/source';
import { learnIdlePower, newIdlePower, type IdlePower, type NodeUse } from '../figures/energy-charges';
import { energyBetween } from '../figures/energy-counters';
import { raplDisagreement } from '../../sources/node/compare-rapl';
import type { Settings } from '../../record/settings';
import { chooseSource } from '../source-settings';

/** What jobs are charged by: counters of the node's energy and of all CPU time on it, and memory in use. */
export interface NodeCharges {
  /** Monotonic, in ms. */
  readonly atMs: number;
  readonly energy: readonly Reading[];
  /** CPU time of all CPUs since boot: the used part, and all of it. */
  readonly busyCpuSeconds: number | null;
  readonly cpuSeconds: number | null;
  readonly usedBytes: number | null;
  /** null: not known yet. */
  readonly idleWatts: number | null;
  /** How the other energy counters disagree with these, in one line; null: they don't, or there are none. */
  readonly disagreement: string | null;
}

/** What the node used between two readings. */
export function useBetween(before: NodeCharges, after: NodeCharges): NodeUse {
  const gained = (from: number | null, to: number | null): number | null =>
    from === null || to === null || to < from ? null : to - from;
  return {
    seconds: (after.atMs - before.atMs) / 1000,
    ...energyBetween(before.energy, after.energy),
    busyCpuSeconds: gained(before.busyCpuSeconds, after.busyCpuSeconds),
    cpuSeconds: gained(before.cpuSeconds, after.cpuSeconds),
    usedBytes: after.usedBytes,
  };
}

export type ChargeReader = ReturnType<typeof openCharges>;

/** Modes in which a CPU does no work for this machine; guests are counted in user time already. */
const IDLE_MODES: ReadonlySet<string> = new Set(['idle', 'iowait', 'steal']);
const COUNTED_TWICE: ReadonlySet<string> = new Set(['guest', 'guest_nice']);

/** Energy counters, the better ones first. */
const ENERGY_SOURCES: readonly Source[] = [rapl, raplPerf(openCpuCounter)];

/** Reads the first of the energy counters that this node has. */
export function openCharges(
  settings: Settings,
  sources = ENERGY_SOURCES,
  machine: Omit<Place, 'options'> = THIS_MACHINE,
) {
  let opened: readonly OpenSource[] | null = null;
  let idle: IdlePower | null = null;
  let last: NodeCharges | null = null;
  let others: readonly Reading[] = [];
  let disagreement: string | null = null;

  function open(): readonly OpenSource[] {
    const { idle_watts: configured } = chooseSource(rapl, settings).options;
    idle = newIdlePower(typeof configured === 'number' ? configured : 0);
    return sources.flatMap((source) => {
      const { enabled, options } = chooseSource(source, settings);
      const one = enabled ? source.open({ ...machine, options }) : null;
      if (one === null || isUnavailable(one)) return [];
      return [one];
    });
  }

  /** Two ways to read the same counters: where they differ, one of them is broken. */
  function compare(before: NodeCharges, after: NodeCharges, second: readonly Reading[]): void {
    const one = energyBetween(before.energy, after.energy).packageJoules;
    const other = energyBetween(others, second).packageJoules;
    disagreement = raplDisagreement(one, other, (after.atMs - before.atMs) / 1000) ?? disagreement;
  }

  return {
    /** null: this node counts no energy. */
    read: (): NodeCharges | null => {
      opened ??= open();
      const [best, second] = opened;
      const energy = best?.read() ?? null;
      if (energy === null || isUnavailable(energy)) return null;
      const times = parseCpuStat(readText(`${machine.proc}/stat`) ?? '')?.total ?? null;
      const sum = (counts: (mode: string) => boolean): number | null =>
        times === null ? null : CPU_MODES.reduce((seconds, mode) => seconds + (counts(mode) ? times[mode] : 0), 0);
      const memory = parseMeminfo(readText(`${machine.proc}/meminfo`) ?? '');
      const total = memory.get('MemTotal');
      const available = memory.get('MemAvailable') ?? memory.get('MemFree');
      const charges: NodeCharges = {
        atMs: machine.now(),
        energy,
        busyCpuSeconds: sum((mode) => !IDLE_MODES.has(mode) && !COUNTED_TWICE.has(mode)),
        cpuSeconds: sum((mode) => !COUNTED_TWICE.has(mode)),
        usedBytes: total === undefined || available === undefined ? null : total - available,
        idleWatts: null,
        disagreement: null,
      };
      if (idle !== null && last !== null) idle = learnIdlePower(idle, useBetween(last, charges));
      const again = second?.read() ?? [];
      const now = isUnavailable(again) ? [] : again;
      if (last !== null && now.length > 0 && others.length > 0) compare(last, charges, now);
      others = now;
      last = charges;
      return { ...charges, idleWatts: idle?.watts ?? null, disagreement };
    },
    close: (): void => {
      for (const one of opened ?? []) one.close();
    },
  };
}
