import { readFileSync } from 'node:fs';
import { monotonicMs } from '../../base/monotonic';

/** USER_HZ: fixed at 100 for user space on every architecture that Node runs on. */
export const TICKS_PER_SECOND = 100;

/** Boot id of this kernel run (a UUID). */
export function bootId(procRoot = '/proc'): string {
  return readFileSync(`${procRoot}/sys/kernel/random/boot_id`, 'latin1').trim();
}

/** Microseconds of CLOCK_MONOTONIC: the clock of the kernel's process events. */
export function monotonicUs(): number {
  return monotonicMs() * 1000;
}

/** Seconds since boot, as /proc/uptime has them (10 ms resolution). */
export function uptimeSeconds(procRoot = '/proc'): number {
  return Number.parseFloat(readFileSync(`${procRoot}/uptime`, 'latin1'));
}

/**
 * A moment of the monotonic clock (µs) in clock ticks after boot, rounded up. The monotonic clock stops while the
 * machine is suspended; that time is taken to lie before the moment.
 */
export function ticksAt(us: number): number {
  const now = monotonicUs();
  return Math.floor((uptimeSeconds() + (us - now) / 1e6) * TICKS_PER_SECOND) + 1;
}

/** Both clocks are read again if more than this passed between the two readings. */
const NEAR_MS = 5;

/** Wall clock (ms since the epoch) of a process start given in clock ticks after boot. */
export function wallClockOfTicks(startTicks: number): number {
  let bootMs = 0;
  let nearest = Infinity;
  for (let tries = 0; tries < 5 && nearest > NEAR_MS; tries++) {
    const before = monotonicMs();
    const nowMs = Date.now();
    const uptime = uptimeSeconds();
    const gap = monotonicMs() - before;
    if (gap >= nearest) continue;
    nearest = gap;
    bootMs = nowMs - uptime * 1000;
  }
  return bootMs + (startTicks / TICKS_PER_SECOND) * 1000;
}
