import { clientRunner } from '../gridengine/client-command';
import { readClusterName } from '../gridengine/cluster-name';
import { findCell, type CellLocation } from '../gridengine/find-cell';
import { readQhost } from '../gridengine/qhost/read-qhost';
import { readJobDetails } from '../gridengine/qstat/read-job-details';
import { readJobList } from '../gridengine/qstat/read-job-list';
import type { Settings } from '../record/settings';
import type { PollRules, PollTools, Query, Readers } from './poller';

export const READERS: Readers = { qhost: readQhost, jobList: readJobList, jobDetails: readJobDetails };

/** The cell that the live commands ask, and what they need for asking. */
export interface LiveCell {
  /** null: none was found; Grid Engine's clients may find one themselves. */
  readonly cell: CellLocation | null;
  readonly cluster: string;
  readonly rules: PollRules;
  readonly tools: PollTools;
}

export function pollRules({ poll_interval: interval, usage_interval: usage }: Settings): PollRules {
  return {
    intervalMs: interval * 1000,
    usageIntervalMs: usage * 1000,
    slackMs: Math.min(1000, interval * 100),
  };
}

/** The same cell, but with only these queries. */
export function withQueries(cell: LiveCell, queries: readonly Query[]): LiveCell {
  return { ...cell, rules: { ...cell.rules, queries } };
}

/** Throws UntrustedError (findCell). */
export function liveCell(settings: Settings, env: NodeJS.ProcessEnv): LiveCell {
  const cell = findCell(env, settings);
  const rules = pollRules(settings);
  const named = cell === null ? 'default' : readClusterName(cell.root, cell.cell);
  return {
    cell,
    cluster: settings.cluster === '' ? named : settings.cluster,
    rules,
    tools: {
      run: clientRunner({ env, cell, timeoutMs: settings.command_timeout * 1000 }),
      readers: READERS,
      now: Date.now,
    },
  };
}
