import { readFileSync } from 'node:fs';
import type { JobRecord } from '../../src/record/record';
import type { Cell } from './cell';
import { client, kind } from './kind';

/** Grid Engine's own figures of an owner's jobs. Times in seconds. */
export interface OwnerSums {
  readonly lines: number;
  readonly wallclock: number;
  readonly cpu: number;
}

export const OWNERS = ['gealice', 'gebob'] as const;
const NO_SUMS: OwnerSums = { lines: 0, wallclock: 0, cpu: 0 };

/**
 * An owner's sums as `qacct -o OWNER` prints them: OWNER WALLCLOCK UTIME STIME CPU MEMORY IO IOW. It leaves out an owner
 * whose jobs all took less than a second (seen on 8.1.9), whatever their CPU time.
 */
export async function qacctSums(cell: Cell, owner: string, file: string): Promise<OwnerSums> {
  const text = await cell.check(cell.master, [client('qacct'), '-o', owner, '-f', file]);
  const row = text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([name]) => name === owner);
  const lines = kind.readAccounting(readFileSync(file, 'latin1')).filter((line) => line.owner === owner).length;
  return { lines, wallclock: Number(row?.[1] ?? 0), cpu: Number(row?.[4] ?? 0) };
}

/** An owner's sums of Grid Engine's figures in records of the accounting DB. */
export function recordSums(records: readonly JobRecord[], owner: string): OwnerSums {
  return records
    .filter((record) => record.owner === owner)
    .reduce(
      (sum, { grid_engine: account }) => ({
        lines: sum.lines + (account?.lines ?? 0),
        wallclock: sum.wallclock + (account?.wallclock_seconds ?? 0),
        cpu: sum.cpu + (account?.cpu_seconds ?? 0),
      }),
      NO_SUMS,
    );
}
