import { realpathSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';

export interface Machine {
  readonly kernel: string;
  readonly cpus: number;
  readonly cpuModel: string;
  readonly memoryGib: number;
  readonly node: string;
  readonly shell: string;
  readonly load: number;
  readonly root: boolean;
}

/** What the figures depend on. */
export function thisMachine(): Machine {
  const processors = cpus();
  return {
    kernel: release(),
    cpus: processors.length,
    cpuModel: processors[0]?.model.trim() ?? 'unknown',
    memoryGib: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    shell: realpathSync('/bin/sh'),
    load: loadavg()[0] ?? 0,
    root: process.getuid?.() === 0,
  };
}

export function describeMachine(machine: Machine): string {
  return (
    `Linux ${machine.kernel}, ${machine.cpus} x ${machine.cpuModel}, ${machine.memoryGib} GiB, Node ${machine.node}, ` +
    `/bin/sh is ${machine.shell}, load ${machine.load.toFixed(1)}${machine.root ? '' : ', not root'}`
  );
}

/** More work than CPUs: elapsed times of this run say little; CPU times and ratios are still of use. */
export function busyNote(machine: Machine): string | null {
  return machine.load > machine.cpus * 0.5
    ? 'Other work is running on this machine: take wall times from a quiet one.'
    : null;
}
