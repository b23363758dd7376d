import { jobNetwork } from './job/network';
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
import type { ProcessSource, Source } from './source';

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
