import type { PendingView } from '../../live/cluster-view';
import { formatCount, formatNumber } from '../format/units';
import { stateLabel } from './labels';
import { runningFor, type LiveColumn } from './live-column';
import { NAME, OTHER_REQUESTS, OWNER, PROJECT, REQUESTED } from './shared-columns';

/** The columns of a waiting job. */
export const PENDING_COLUMNS: readonly LiveColumn<PendingView>[] = [
  {
    head: 'job',
    atLeast: 7,
    shrinksTo: 12,
    cell: ({ job, tasks }, screen) => (tasks === null ? String(job) : `${job}.${screen.safe(tasks)}`),
  },
  OWNER,
  NAME,
  { head: 'st', cell: (job, screen) => stateLabel(job.state, screen) },
  { ...PROJECT, dispensable: 3 },
  {
    head: 'slots',
    align: 'right',
    cell: ({ slots }) => (slots === null ? '' : formatCount(slots)),
    has: ({ slots }) => slots !== null,
  },
  REQUESTED,
  { ...OTHER_REQUESTS, dispensable: 4 },
  {
    head: 'priority',
    align: 'right',
    dispensable: 2,
    has: ({ priority }) => priority !== null,
    cell: ({ priority }) => (priority === null ? '' : formatNumber(priority)),
  },
  { head: 'waiting', align: 'right', dispensable: 1, cell: (job, screen) => runningFor(job.submittedAt, screen) },
];
