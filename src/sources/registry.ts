import { jobNetwork } from './job/network';
import { pss } from './job/pss';
import { drm } from './node/drm';
import { loadavg } from './node/loadavg';
import { nvidia } from './node/nvidia';
import type { ProcessSource, Source } from './source';

/** Every source of node-wide samples, in the order in which people see them. */
export const NODE_SOURCES: readonly Source[] = [loadavg, nvidia, drm];

/** Every source that is asked about a job's processes. */
export const PROCESS_SOURCES: readonly ProcessSource[] = [pss, jobNetwork];
