import type { Bench } from './bench';
export const sourcesBench: Bench = { name: 'sources', about: 'stub', run: () => Promise.resolve([]) };
