import { hwmon } from './node/hwmon';
import { infiniband } from './node/infiniband';
import { ipmi } from './node/ipmi';
import { loadavg } from './node/loadavg';
import { lustre } from './node/lustre';
import { nfs } from './node/nfs';
import { rapl } from './node/rapl';
import { thermal } from './node/thermal';
import type { Source } from './source';

/** Every source of node-wide samples, in the order in which people see them. */
export const NODE_SOURCES: readonly Source[] = [loadavg, nfs, lustre, infiniband, rapl, ipmi, thermal, hwmon];
