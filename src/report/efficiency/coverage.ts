import type { CoverageReason } from '../../record/coverage';
import type { Coverage } from './report';

type Unsampled = Exclude<CoverageReason, 'sampled'>;

const SAYS: Readonly<Record<Unsampled, string>> = {
  'no-hooks': "known from Grid Engine's accounting only: no hook ran there, or its record has not come",
  'never-started': 'never started',
  limits: 'their limits left no room for a sampler',
  unprivileged: 'the hooks ran without the privilege that a sampler needs',
  'sampler-lost': 'the sampler was lost before the job ended',
  other: 'for another reason (their notes tell)',
};

/** How many ended records had samples, and why the others had none. */
export function coverageOf(counts: Readonly<Record<CoverageReason, number>>): Coverage {
  const reasons = (Object.keys(SAYS) as Unsampled[])
    .map((reason) => ({ reason, says: SAYS[reason], records: counts[reason] }))
    .filter(({ records }) => records > 0)
    .sort((a, b) => b.records - a.records);
  return {
    records: reasons.reduce((sum, { records }) => sum + records, counts.sampled),
    sampled: counts.sampled,
    reasons,
  };
}
