import { readText } from '../files';

/** Pages that the machine saves by KSM: each merged page shows in the memory of every place that maps it. 0: no KSM. */
export function mergedPages(sysRoot = '/sys'): number {
  return Number.parseInt(readText(`${sysRoot}/kernel/mm/ksm/pages_sharing`) ?? '', 10) || 0;
}
