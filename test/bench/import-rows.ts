import { formatCount } from '../../src/report/format/units';
import type { JobRecord } from '../../src/record/record';
import type { Row } from './bench';
import { FIRST_JOB } from './history-fill';
import type { BudgetName } from './budgets';

/** The parts of the import's rows, for all stores. */

export const CLUSTER = 'hpc';

export interface Timed<T> {
  readonly value: T;
  readonly us: number;
  readonly cpuUs: number;
}

export async function timed<T>(step: () => T | Promise<T>): Promise<Timed<T>> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  const value = await step();
  const us = (performance.now() - began) * 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { value, us, cpuUs: user + system };
}

export function row(
  what: string,
  lines: number,
  { us, cpuUs }: Pick<Timed<unknown>, 'us' | 'cpuUs'>,
  budget?: BudgetName,
): Row {
  const note = `${formatCount((lines * 1e6) / us)} lines/s; CPU ${(cpuUs / lines).toFixed(1)} us a line`;
  return { what, unit: 'us', values: [us / lines], note, budget };
}

/** A run's record some weeks later, under a later job number. */
export function later(record: JobRecord, jobs: number, ms: number): JobRecord {
  const moved = (time: string | null): string | null =>
    time === null ? null : new Date(Date.parse(time) + ms).toISOString();
  return {
    ...record,
    job_id: FIRST_JOB + record.job_id + jobs,
    submitted_at: moved(record.submitted_at),
    started_at: moved(record.started_at),
    ended_at: moved(record.ended_at),
    revision: record.revision + ms,
    series: null,
  };
}
