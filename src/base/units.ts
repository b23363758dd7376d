export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;
