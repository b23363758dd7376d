import type { PendingView } from '../../live/cluster-view';
import { namedRequest, requestText, splitRequests } from './labels';
import type { LiveColumn } from './live-column';

/** Columns of both running and waiting jobs; each table says how dispensable they are. */

export const OWNER: LiveColumn<Pick<PendingView, 'owner'>> = {
  head: 'owner',
  atLeast: 6,
  shrinksTo: 6,
  cell: ({ owner }, screen) => screen.safe(owner),
};

export const NAME: LiveColumn<Pick<PendingView, 'name'>> = {
  head: 'name',
  atLeast: 10,
  shrinksTo: 10,
  cell: ({ name }, screen) => screen.safe(name),
};

const projectOf = ({ project }: Pick<PendingView, 'project'>): string => (project === 'NONE' ? '' : (project ?? ''));

export const PROJECT: LiveColumn<Pick<PendingView, 'project'>> = {
  head: 'project',
  shrinksTo: 8,
  has: (job) => projectOf(job) !== '',
  cell: (job, screen) => screen.safe(projectOf(job)),
};

type Requests = Pick<PendingView, 'requests' | 'complex'>;

export const REQUESTED: LiveColumn<Requests> = {
  head: 'requested',
  align: 'right',
  atLeast: 6,
  shrinksTo: 8,
  has: (job) => splitRequests(job).counted !== null,
  cell: (job, screen) => {
    const { counted } = splitRequests(job);
    return counted === null ? '' : requestText(counted, screen);
  },
};

export const OTHER_REQUESTS: LiveColumn<Requests> = {
  head: 'other requests',
  shrinksTo: 14,
  has: (job) => splitRequests(job).others.length > 0,
  cell: (job, screen) =>
    splitRequests(job)
      .others.map((request) => namedRequest(request, screen))
      .join(' '),
};
