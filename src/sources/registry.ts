import { battery } from './node/battery';
import { cpu } from './node/cpu';
import { cpufreq } from './node/cpufreq';
import { disk } from './node/disk';
import { diskusage } from './node/diskusage';
import { loadavg } from './node/loadavg';
import { meminfo } from './node/meminfo';
import { mounts } from './node/mounts';
import { network } from './node/network';
import { numa } from './node/numa';
import { pressure } from './node/pressure';
import { sockets } from './node/sockets';
import { swap } from './node/swap';
import { tcpstates } from './node/tcpstates';
import { uptime } from './node/uptime';
import { users } from './node/users';
import { vmstat } from './node/vmstat';
import type { Source } from './source';

/** Every source of node-wide samples, in the order in which people see them. */
export const NODE_SOURCES: readonly Source[] = [
  uptime,
  loadavg,
  cpu,
  cpufreq,
  meminfo,
  swap,
  vmstat,
  numa,
  pressure,
  disk,
  diskusage,
  mounts,
  network,
  sockets,
  tcpstates,
  users,
  battery,
];
