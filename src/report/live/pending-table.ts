import type { PendingView } from '../../live/cluster-view';
import { formatCount, formatNumber } from '../format/units';
import { namedRequest, requestText, splitRequests, stateLabel } from './labels';
import { runningFor, type LiveColumn } from './live-column';

/** The columns of a waiting job. */
export const PENDING_COLUMNS: readonly LiveColumn<PendingView>[] = [
  {
    head: 'job',
    atLeast: 7,
    shrinksTo: 12,
    cell: ({ job, tasks }, screen) => (tasks === null ? String(job) : `${job}.${screen.safe(tasks)}`),
  },
  { head: 'owner', atLeast: 6, shrinksTo: 6, cell: (job, screen) => screen.safe(job.owner) },
  { head: 'name', atLeast: 10, shrinksTo: 10, cell: (job, screen) => screen.safe(job.name) },
  { head: 'st', cell: (job, screen) => stateLabel(job.state, screen) },
  {
    head: 'project',
    dispensable: 3,
    shrinksTo: 8,
    has: ({ project }) => project !== null && project !== 'NONE',
    cell: (job, screen) => (job.project === null || job.project === 'NONE' ? '' : screen.safe(job.project)),
  },
  {
    head: 'slots',
    align: 'right',
    cell: ({ slots }) => (slots === null ? '' : formatCount(slots)),
    has: ({ slots }) => slots !== null,
  },
  {
    head: 'requested',
    align: 'right',
    atLeast: 6,
    shrinksTo: 8,
    has: (job) => splitRequests(job).counted !== null,
    cell: (job, screen) => {
      const { counted } = splitRequests(job);
      return counted === null ? '' : requestText(counted, screen);
    },
  },
  {
    head: 'other requests',
    dispensable: 4,
    shrinksTo: 14,
    has: (job) => splitRequests(job).others.length > 0,
    cell: (job, screen) =>
      splitRequests(job)
        .others.map((request) => namedRequest(request, screen))
        .join(' '),
  },
  {
    head: 'priority',
    align: 'right',
    dispensable: 2,
    has: ({ priority }) => priority !== null,
    cell: ({ priority }) => (priority === null ? '' : formatNumber(priority)),
  },
  { head: 'waits for', align: 'right', dispensable: 1, cell: (job, screen) => runningFor(job.submittedAt, screen) },
];
