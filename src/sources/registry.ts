import { taskstats } from './events/exit-facts';
import { jobNetwork } from './job/network';
import { perfFacts } from './job/perf-metrics';
import { processes } from './job/processes';
import { cgroupFacts } from './job/cgroup';
import { drmProcess } from './job/drm-process';
import { pss } from './job/pss';
import { openCpuCounter } from '../native/perf-event';
import { raplPerf } from './node/rapl-perf';
import { battery } from './node/battery';
import { cpu } from './node/cpu';
import { cpufreq } from './node/cpufreq';
import { disk } from './node/disk';
import { diskusage } from './node/diskusage';
import { drm } from './node/drm';
import { edac } from './node/edac';
import { hwmon } from './node/hwmon';
import { infiniband } from './node/infiniband';
import { ipmi } from './node/ipmi';
import { loadavg } from './node/loadavg';
import { lustre } from './node/lustre';
import { meminfo } from './node/meminfo';
import { mounts } from './node/mounts';
import { network } from './node/network';
import { nfs } from './node/nfs';
import { numa } from './node/numa';
import { nvidia } from './node/nvidia';
import { pressure } from './node/pressure';
import { rapl } from './node/rapl';
import { sockets } from './node/sockets';
import { swap } from './node/swap';
import { tcpstates } from './node/tcpstates';
import { thermal } from './node/thermal';
import { uptime } from './node/uptime';
import { users } from './node/users';
import { vmstat } from './node/vmstat';
import type { ProcessSource, Source, SourceFacts } from './source';

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
  edac,
  pressure,
  disk,
  diskusage,
  mounts,
  network,
  infiniband,
  nfs,
  lustre,
  sockets,
  tcpstates,
  users,
  rapl,
  raplPerf(openCpuCounter),
  ipmi,
  thermal,
  hwmon,
  battery,
  nvidia,
  drm,
];

/** Every source that is asked about a job's processes. */
export const PROCESS_SOURCES: readonly ProcessSource[] = [pss, jobNetwork, drmProcess];

/** Every source of samples, with those that are asked about a job or its processes: what `qmemacct metrics` lists. */
export const ALL_SOURCE_FACTS: readonly SourceFacts[] = [
  processes,
  taskstats,
  cgroupFacts,
  perfFacts,
  ...PROCESS_SOURCES,
  ...NODE_SOURCES,
];
