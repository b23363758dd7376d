import { samplerFlags } from '../../src/base/node-flags';

/** Node's options in the two modes of the sampler, as hooks/common.sh sets them. */
const COMMON = ['--v8-pool-size=0', '--single-threaded', '--max-semi-space-size=1'] as const;

export const FULL_MODE: readonly string[] = samplerFlags();
export const SMALL_MODE: readonly string[] = [...COMMON, '--jitless', '--max-old-space-size=24'];
