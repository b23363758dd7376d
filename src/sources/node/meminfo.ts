import { openedFile } from '../files';
import { metricsOf, reading, readingsByKey, source, type Metric, type Reading } from '../source';

const { gauge } = metricsOf('meminfo');

/** Lines of `/proc/meminfo` (proc_meminfo(5)), by their name in the kernel. */
const LINES: Readonly<Record<string, string>> = {
  MemTotal: 'Usable memory: physical memory less what the kernel image and firmware keep.',
  MemFree: 'Memory that nothing uses.',
  MemAvailable: 'What programs could get without swapping, as the kernel estimates it (Linux 3.14 or later).',
  Buffers: 'Page cache of raw block devices.',
  Cached: 'Page cache of files, tmpfs and shared memory included.',
  SwapCached: 'Memory that is in swap, too, since it was swapped in and not changed.',
  Active: 'Memory used more recently; not reclaimed unless necessary.',
  Inactive: 'Memory used less recently; reclaimed first.',
  'Active(anon)': 'Anonymous and tmpfs memory used more recently.',
  'Inactive(anon)': 'Anonymous and tmpfs memory used less recently.',
  'Active(file)': 'Page cache used more recently.',
  'Inactive(file)': 'Page cache used less recently.',
  Unevictable: 'Memory that can not be reclaimed: locked, ramfs.',
  Mlocked: 'Memory locked by mlock.',
  SwapTotal: 'Swap space.',
  SwapFree: 'Swap space that nothing uses.',
  Zswap: 'Memory that zswap takes for what it has compressed (Linux 5.19 or later).',
  Zswapped: 'Anonymous memory that zswap holds compressed, at its size before (Linux 5.19 or later).',
  Dirty: 'Page cache that waits to be written back.',
  Writeback: 'Page cache that is being written back.',
  AnonPages: 'Anonymous memory that is mapped by processes.',
  Mapped: 'Files and shared memory that are mapped by processes.',
  Shmem: 'Shared memory and tmpfs.',
  KReclaimable: 'Memory of the kernel that it can give back (Linux 4.20 or later).',
  Slab: 'Caches of kernel objects.',
  SReclaimable: 'The part of Slab that can be reclaimed.',
  SUnreclaim: 'The part of Slab that can not be reclaimed.',
  KernelStack: 'Kernel stacks of all tasks.',
  PageTables: 'Page tables of processes.',
  SecPageTables: 'Page tables of virtual machines and IOMMUs (Linux 6.0 or later).',
  NFS_Unstable: 'Sent to an NFS server but not yet on its disk; always 0 from Linux 5.8 on.',
  Bounce: 'Bounce buffers of block devices.',
  WritebackTmp: 'Temporary write-back buffers of FUSE.',
  CommitLimit: 'What may be promised to programs where overcommitting is off.',
  Committed_AS: 'What has been promised to programs.',
  VmallocTotal: 'Address space of vmalloc.',
  VmallocUsed: 'Used part of the address space of vmalloc; 0 from Linux 4.4 to 5.2.',
  VmallocChunk: 'Largest free block of the address space of vmalloc; 0 from Linux 4.4 on.',
  Percpu: 'Per-CPU allocations of the kernel (Linux 4.20 or later).',
  HardwareCorrupted: 'Memory taken out of use for hardware errors.',
  AnonHugePages: 'Anonymous memory in transparent huge pages.',
  ShmemHugePages: 'Shared memory and tmpfs in huge pages (Linux 4.8 or later).',
  ShmemPmdMapped: 'Shared memory mapped with huge pages (Linux 4.8 or later).',
  FileHugePages: 'Page cache in huge pages (Linux 5.4 or later).',
  FilePmdMapped: 'Page cache mapped with huge pages (Linux 5.4 or later).',
  CmaTotal: 'Memory reserved for contiguous allocations.',
  CmaFree: 'Free part of the memory reserved for contiguous allocations.',
  HugePages_Total: 'Huge pages of the default size in the pool.',
  HugePages_Free: 'Huge pages in the pool that nothing uses.',
  HugePages_Rsvd: 'Huge pages in the pool that are promised and not yet used.',
  HugePages_Surp: 'Huge pages beyond the size set for the pool.',
  Hugepagesize: 'Size of a default huge page.',
  Hugetlb: 'Memory in huge pages of all sizes (Linux 4.16 or later).',
  DirectMap4k: "The kernel's own mapping of memory in pages of 4 KiB (x86).",
  DirectMap2M: "The kernel's own mapping of memory in pages of 2 MiB (x86).",
  DirectMap1G: "The kernel's own mapping of memory in pages of 1 GiB (x86).",
};

/** "Active(anon)" becomes active_anon. */
const metricWord = (line: string): string => line.toLowerCase().replace('(', '_').replace(')', '');

const METRICS: Readonly<Record<string, Metric>> = Object.fromEntries(
  Object.entries(LINES).map(([line, help]) => [
    line,
    gauge(metricWord(line), line.startsWith('HugePages_') ? 'count' : 'bytes', help),
  ]),
);

const USED = gauge('used', 'bytes', 'MemTotal less MemFree, Buffers, Cached and SReclaimable.');
const PERCENT = gauge(
  'used',
  'percent',
  'MemTotal less MemAvailable, of MemTotal; where the kernel has no MemAvailable, meminfo_used_bytes of MemTotal.',
  { resolution: 100 },
);

/** Lines of `/proc/meminfo` by their name in the kernel, in bytes; HugePages_* in pages. */
export function parseMeminfo(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [, line, digits, unit] of text.matchAll(/^([\w()]{1,40}):[ \t]+(\d{1,20})( kB)?$/gm))
    found.set(String(line), Number(digits) * (unit === undefined ? 1 : 1024));
  return found;
}

/** Memory in use, counted as psutil 5 does, whose figures FrUCToSA shows; null if a line that it needs is missing. */
export function memoryUsed(lines: ReadonlyMap<string, number>): { bytes: number; percent: number } | null {
  const total = lines.get('MemTotal');
  const free = lines.get('MemFree');
  if (total === undefined || free === undefined || total === 0) return null;
  const cache = ['Buffers', 'Cached', 'SReclaimable'].reduce((sum, line) => sum + (lines.get(line) ?? 0), 0);
  const used = total - free - cache;
  // The kernel reads these figures one after another, so they may add up to more than the total.
  const bytes = Math.max(0, used >= 0 ? used : total - free);
  const taken = total - (lines.get('MemAvailable') ?? total - bytes);
  return { bytes, percent: Math.min(100, Math.max(0, (100 * taken) / total)) };
}

function meminfoReadings(text: string): readonly Reading[] {
  const lines = parseMeminfo(text);
  const used = memoryUsed(lines);
  const inUse = used === null ? [] : [reading(USED, used.bytes), reading(PERCENT, used.percent)];
  return [...readingsByKey(METRICS, lines), ...inUse];
}

export const meminfo = source({
  name: 'meminfo',
  reads: ['/proc/meminfo'],
  metrics: [USED, PERCENT, ...Object.values(METRICS)],
  open: ({ proc }) => openedFile(`${proc}/meminfo`, meminfoReadings),
});
