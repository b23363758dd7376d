import type { JobView } from '../../live/cluster-view';
import type { Screen } from '../screen';
import { measureText } from './labels';

const NARROW = 80;

/** What the columns of figures mean, for what stands in them. */
export function jobsLegend(jobs: readonly JobView[], screen: Screen): readonly string[] {
  const measures = [...new Set(jobs.flatMap(({ measure }) => (measure === null ? [] : [measure])))];
  // On a narrow screen only the share of the limit is left of them.
  const roomy = screen.width >= NARROW;
  const theirs = roomy && jobs.some(({ vmem, maxvmem }) => vmem !== null || maxvmem !== null);
  const ours = roomy && jobs.some((job) => job.ours !== null);
  const limits = jobs.some(({ limit }) => limit !== null);
  return [
    ...(theirs
      ? [
          `vmem, maxvmem: Grid Engine's figures, now and at most: ${
            measures.length === 0 ? 'what they add up is not known' : measures.map(measureText).join('; ')
          }.`,
        ]
      : []),
    ...(ours ? ['RSS, peak: resident memory as sampled, now and at most; age: of these two.'] : []),
    ...(limits ? ['limit: h_vmem of the whole job; of limit: the largest figure so far, maxvmem or peak.'] : []),
    ...(limits && jobs.some(({ parts }) => parts.length > 1)
      ? [
          roomy
            ? 'Of a job on several hosts, peak and of limit are of the fullest one, by the limit there; the others are sums.'
            : 'Of a job on several hosts, of limit is that of the fullest one, by the limit there.',
        ]
      : []),
    ...(jobs.some(({ trend }) => (trend?.limitAt ?? null) !== null)
      ? ['full at: when it reaches its limit if it goes on as in the last minutes (?: a guess).']
      : []),
  ];
}
