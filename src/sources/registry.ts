import { jobNetwork } from './job/network';
import { processes } from './job/processes';
import { pss } from './job/pss';
import { drm } from './node/drm';
import { hwmon } from './node/hwmon';
import { infiniband } from './node/infiniband';
import { ipmi } from './node/ipmi';
import { loadavg } from './node/loadavg';
import { lustre } from './node/lustre';
import { nfs } from './node/nfs';
import { nvidia } from './node/nvidia';
import { rapl } from './node/rapl';
import { thermal } from './node/thermal';
import { perfFacts } from './job/perf-metrics';
import { taskstats } from './events/exit-facts';
import type { ProcessSource, Source, SourceFacts } from './source';

/** Every source of node-wide samples, in the order in which people see them. */
export const NODE_SOURCES: readonly Source[] = [
  loadavg,
  nvidia,
  drm,
  nfs,
  lustre,
  infiniband,
  rapl,
  ipmi,
  thermal,
  hwmon,
];

/** Every source that is asked about a job's processes. */
export const PROCESS_SOURCES: readonly ProcessSource[] = [pss, jobNetwork];

/** Every source of samples, with those that are asked about a job or its processes: what `qmemacct metrics` lists. */
export const ALL_SOURCE_FACTS: readonly SourceFacts[] = [
  processes,
  taskstats,
  perfFacts,
  ...PROCESS_SOURCES,
  ...NODE_SOURCES,
];
