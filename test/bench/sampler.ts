import type { Bench } from './bench';
export const samplerBench: Bench = { name: 'sampler', about: 'what a running sampler costs', run: () => Promise.resolve([]) };
