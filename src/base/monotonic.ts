/**
 * Milliseconds on CLOCK_MONOTONIC, the clock of the kernel's process events. performance.now() counts from another
 * zero, and would cost every sampler 2 ms at its start.
 */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
