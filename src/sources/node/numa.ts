import { listNames, readText } from '../files';
import { metricsOf, opened, readingsByKey, source, unavailable, type Metric, type Reading } from '../source';

const { gauge, counter } = metricsOf('numa');

const NODE = { instance: 'node' };

/** Lines of `nodeN/meminfo`, in kB. */
const MEMORY: Readonly<Record<string, Metric>> = {
  MemTotal: gauge('total', 'bytes', 'Memory of the node.', NODE),
  MemFree: gauge('free', 'bytes', 'Memory of the node that nothing uses.', NODE),
  MemUsed: gauge('used', 'bytes', 'Total less free: page cache included.', NODE),
  FilePages: gauge('file', 'bytes', 'Page cache in the memory of the node.', NODE),
  AnonPages: gauge('anonymous', 'bytes', 'Mapped anonymous memory in the memory of the node.', NODE),
};

/** Lines of `nodeN/numastat`, in pages allocated (Documentation/admin-guide/numastat.rst). */
const ALLOCATIONS: Readonly<Record<string, Metric>> = {
  numa_hit: counter('hit', 'count', 'Pages allocated on this node as wished.', NODE),
  numa_miss: counter('miss', 'count', 'Pages allocated on this node although another one was wished.', NODE),
  numa_foreign: counter('foreign', 'count', 'Pages wished on this node but allocated on another one.', NODE),
  interleave_hit: counter('interleave', 'count', 'Pages allocated here by the interleaving policy as wished.', NODE),
  local_node: counter('local', 'count', 'Pages allocated on this node by a process that ran on it.', NODE),
  other_node: counter('other', 'count', 'Pages allocated on this node by a process that ran on another one.', NODE),
};

const found = (matches: Iterable<RegExpMatchArray>, unit: number): ReadonlyMap<string, number> =>
  new Map([...matches].map(([, key, digits]) => [String(key), Number(digits) * unit]));

/** Parses `nodeN/meminfo`: bytes by the kernel's names; HugePages_* lines have no unit and are left out. */
export const parseNodeMeminfo = (text: string): ReadonlyMap<string, number> =>
  found(text.matchAll(/^Node \d{1,6} ([\w()]{1,40}):[ \t]+(\d{1,20}) kB$/gm), 1024);

/** Parses `nodeN/numastat`: pages by the kernel's names. */
export const parseNumastat = (text: string): ReadonlyMap<string, number> =>
  found(text.matchAll(/^(\w{1,40}) (\d{1,20})$/gm), 1);

export const numa = source({
  name: 'numa',
  reads: ['/sys/devices/system/node/node*/{meminfo,numastat}'],
  metrics: [...Object.values(MEMORY), ...Object.values(ALLOCATIONS)],
  open: ({ sys }) => {
    const directory = `${sys}/devices/system/node`;
    const read = (): readonly Reading[] =>
      listNames(directory).flatMap((name) => {
        const node = /^node(\d+)$/.exec(name)?.[1];
        if (node === undefined) return [];
        return [
          ...readingsByKey(MEMORY, parseNodeMeminfo(readText(`${directory}/${name}/meminfo`) ?? ''), node),
          ...readingsByKey(ALLOCATIONS, parseNumastat(readText(`${directory}/${name}/numastat`) ?? ''), node),
        ];
      });
    return opened(read, () => unavailable(`no memory nodes below ${directory}`));
  },
});
