import { GIB, MIB } from '../base/units';
import type { AccountingRecord } from './accounting-record';

/** The last digit that Grid Engine prints of a figure. */
const PRINTED = 1e-6;

/**
 * Whether figures are of what was reserved, not of what was used (execd_params ACCT_RESERVED_USAGE in accounting lines,
 * SHARETREE_RESERVED_USAGE in qstat): maxvmem is then the lower of h_vmem and s_vmem times the slots, mem so much for
 * the elapsed whole seconds, and cpu these seconds times the slots (build_reserved_usage() in load_avg.c). A computing job
 * of constant memory can be measured so when its CPU time is whole, but then its memory is hardly ever a size that one
 * types. Without a limit maxvmem and mem are 0: null, this can't tell.
 */
export function isReservedUsage(cpuSeconds: number, memGibSeconds: number, maxvmemBytes: number): boolean | null {
  if (cpuSeconds <= 0 || !Number.isInteger(cpuSeconds)) return false;
  if (maxvmemBytes <= 0) return memGibSeconds === 0 ? null : false;
  if (maxvmemBytes % MIB !== 0 && maxvmemBytes % 1e6 !== 0) return false;
  const gib = maxvmemBytes / GIB;
  const seconds = Math.round(memGibSeconds / gib);
  return seconds > 0 && cpuSeconds % seconds === 0 && Math.abs(seconds * gib - memGibSeconds) <= PRINTED;
}

/** A line whose figures are only of what was used: the CPU time is rusage's then, and there is no maxvmem. */
export function withoutReserved(line: AccountingRecord): AccountingRecord {
  const { cpuSeconds, userSeconds, systemSeconds, wallclockSeconds } = line;
  const used = userSeconds + systemSeconds;
  const isReserved =
    used < cpuSeconds &&
    (isReservedUsage(cpuSeconds, line.memGibSeconds, line.maxvmemBytes ?? 0) ??
      (wallclockSeconds > 0 && cpuSeconds >= wallclockSeconds));
  return isReserved ? { ...line, cpuSeconds: used, maxvmemBytes: null } : line;
}
