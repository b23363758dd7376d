import type { Route } from '../routes/route';
import { classPage } from './pages/class';
import { clusterPage } from './pages/cluster';
import { comparePage } from './pages/compare';
import { FILES } from './pages/files';
import { interfacePage } from './pages/interface';
import { JOB_PAGES } from './pages/job';
import { jobsPage } from './pages/jobs';
import { nodesPage } from './pages/nodes';
import { nowPage } from './pages/now';
import { reportPage } from './pages/reports';
import { SIGN_IN } from './pages/sign-in';

/** Everything that people can look at: each page shows what the published interface says to the same caller. */
export const PAGES: readonly Route[] = [
  nowPage,
  ...JOB_PAGES,
  jobsPage,
  classPage,
  comparePage,
  clusterPage,
  nodesPage,
  reportPage,
  interfacePage,
  ...SIGN_IN,
  ...FILES,
];
