import { countedByExecd, countedTogether } from '../../record/cause';
import { formatCounted } from '../format/bracket';
import type { JobWhole } from './job-whole';

/** Grid Engine's own figure (maxvmem) for a run of a job. */
export interface Counted {
  readonly bytes: number;
  /** A sum over all hosts of the run, as no figure of a single host is known. */
  readonly isSum: boolean;
}

/** null: none is known. */
export function countedOf({ memoryHost, records }: Pick<JobWhole, 'memoryHost' | 'records'>): Counted | null {
  const here = countedByExecd(memoryHost);
  if (here !== null) return { bytes: here, isSum: false };
  const together = countedTogether(records);
  return together === null ? null : { bytes: together, isSum: true };
}

export const SUM_OVER_HOSTS = 'sum over hosts';

/** "~748 MiB (sum over hosts)" */
export const countedText = ({ bytes, isSum }: Counted): string =>
  `${formatCounted(bytes)}${isSum ? ` (${SUM_OVER_HOSTS})` : ''}`;
