import type { Route } from '../routes/route';
import { clusterPage } from './pages/cluster';
import { FILES } from './pages/files';
import { interfacePage } from './pages/interface';
import { JOB_PAGES } from './pages/job';
import { jobsPage } from './pages/jobs';
import { nowPage } from './pages/now';
import { SIGN_IN } from './pages/sign-in';

/** Everything that people can look at: each page shows what the published interface says to the same caller. */
export const PAGES: readonly Route[] = [
  nowPage,
  ...JOB_PAGES,
  jobsPage,
  clusterPage,
  interfacePage,
  ...SIGN_IN,
  ...FILES,
];
