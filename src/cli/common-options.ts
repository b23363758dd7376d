import type { Command } from 'commander';
import type { Dimension } from '../accounting/summary';

/** Adds --since and --until, the interval in which jobs ended. */
export function addIntervalOptions(command: Command, since = '7d'): Command {
  return command
    .option('--since <time>', 'start of the period: 7d, 12h, today, yesterday, 2026-11-01, "2026-11-01 08:00"', since)
    .option('--until <time>', 'end of the period, not included (default: now)');
}

/** A field that jobs are summed up by. */
export interface Summed {
  readonly by: Dimension;
  readonly one: string;
  readonly many: string;
}

export const SUMMED: readonly Summed[] = [
  { by: 'owner', one: 'owner', many: 'owners' },
  { by: 'project', one: 'project', many: 'projects' },
  { by: 'queue', one: 'queue', many: 'queues' },
  { by: 'host', one: 'host', many: 'hosts' },
  { by: 'job_name', one: 'name', many: 'names' },
];
