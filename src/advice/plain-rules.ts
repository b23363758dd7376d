import type { JobClass } from './job-class';

const largest = (peaks: readonly number[]): number => peaks.reduce((most, peak) => Math.max(most, peak), 0);

export interface PlainRule {
  readonly name: string;
  readonly request: (jobClass: JobClass) => number;
}

/** Rules of thumb that others use, for comparison with our advice. */
export const PLAIN_RULES: readonly PlainRule[] = [
  { name: 'last run + 20 %', request: (jobClass) => 1.2 * largest(jobClass.last(1)) },
  { name: 'largest of 10 runs + 20 %', request: (jobClass) => 1.2 * largest(jobClass.last(10)) },
  { name: 'largest of 30 runs + 20 %', request: (jobClass) => 1.2 * largest(jobClass.last(30)) },
  // Kubernetes' Vertical Pod Autoscaler.
  { name: '90th percentile + 15 %', request: (jobClass) => 1.15 * jobClass.base(0.1) },
];
