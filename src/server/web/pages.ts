import type { Route } from '../routes/route';
import { FILES } from './pages/files';
import { interfacePage } from './pages/interface';
import { SIGN_IN } from './pages/sign-in';

/** Everything that people can look at: each page shows what the published interface says to the same caller. */
export const PAGES: readonly Route[] = [interfacePage, ...SIGN_IN, ...FILES];
