import { readFileSync } from 'node:fs';

/** USER_HZ: fixed at 100 for user space on every architecture that Node runs on. */
export const TICKS_PER_SECOND = 100;

/** Boot id of this kernel run (a UUID). */
export function bootId(procRoot = '/proc'): string {
  return readFileSync(`${procRoot}/sys/kernel/random/boot_id`, 'latin1').trim();
}

/** Seconds since boot, as /proc/uptime has them (10 ms resolution). */
export function uptimeSeconds(procRoot = '/proc'): number {
  return Number.parseFloat(readFileSync(`${procRoot}/uptime`, 'latin1'));
}

/** Wall clock (ms since the epoch) of a process start given in clock ticks after boot. */
export function wallClockOfTicks(startTicks: number, uptime: number, nowMs: number): number {
  return nowMs - (uptime - startTicks / TICKS_PER_SECOND) * 1000;
}
