import { PERF_RATIOS } from '../../sources/job/perf-metrics';
import { processes, SWAP_PEAK } from '../../sources/job/processes';
import { pss } from '../../sources/job/pss';
import { drm } from '../../sources/node/drm';
import { nvidia } from '../../sources/node/nvidia';
import { rapl } from '../../sources/node/rapl';
import { ALL_SOURCE_FACTS } from '../../sources/registry';
import { USUAL, type SourceFacts } from '../../sources/source';
import { ENERGY_JOB_METRICS } from './energy-charges';
import { GPU_JOB_METRICS, GPU_MEANS } from './gpu-use';
import { PSS_FACTS } from './pss-sums';

/** Figures of a whole job that the sampler makes out of several sources, or of a source's values over time. */
export const JOB_FACTS: readonly SourceFacts[] = [
  {
    ...USUAL,
    name: 'energy',
    reads: ['the sources rapl and raplperf', '/proc/stat', '/proc/meminfo'],
    metrics: ENERGY_JOB_METRICS,
    interval: rapl.interval,
  },
  {
    ...USUAL,
    name: 'gpu',
    reads: ['the sources nvidia, drm and drmprocess', "the job's environment"],
    metrics: GPU_JOB_METRICS,
    interval: Math.min(nvidia.interval, drm.interval),
  },
  { ...pss, metrics: PSS_FACTS },
  { ...processes, metrics: [SWAP_PEAK] },
];

/** Whatever a record or a series can name: the metrics of every source, and those of whole jobs. */
export const ALL_FACTS: readonly SourceFacts[] = [...ALL_SOURCE_FACTS, ...JOB_FACTS];

/** By the name of a mean or ratio, the metric that weights it when two accounts are joined. */
export const WEIGHED_BY: Readonly<Record<string, string>> = { ...PERF_RATIOS, ...GPU_MEANS };
