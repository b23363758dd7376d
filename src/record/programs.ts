import { programDigest } from '../gridengine/program';
import { submittedCommand } from '../gridengine/qsub-options';
import type { JobRecord } from './record';

/**
 * Digests of what a job runs, the best first: `program` as its host saw it, then the digest of the submitted script
 * name or command, which Open Cluster Scheduler's accounting has. For a command (`-b y`) both begin alike.
 */
export function programsOf(program: string | null, command: string | null): readonly string[] {
  const byCommand = command === null ? null : programDigest({ command }, null);
  return [program, byCommand].filter((digest) => digest !== null);
}

/** The digests of what a record's job runs, the best first. */
export function programsOfRecord({
  program,
  grid_engine,
}: Pick<JobRecord, 'program' | 'grid_engine'>): readonly string[] {
  const line = grid_engine?.submit_command ?? null;
  return programsOf(program, line === null ? null : submittedCommand(line));
}
