import { ALL_FACTS } from '../../sampler/figures/job-facts';

/** The names of all metrics that records may hold. */
export function metricNames(): readonly string[] {
  const ofJobs = ALL_FACTS.flatMap(({ metrics }) => metrics.filter(({ scope }) => scope !== 'node'));
  return [...new Set(ofJobs.map(({ name }) => name))];
}
