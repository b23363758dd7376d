import { openedFile } from '../files';
import { pageSize } from '../page-size';
import { metricsOf, reading, source, type Metric } from '../source';

const { counter } = metricsOf('vmstat');

const METRICS = {
  pgpgin: counter('pgpgin', 'bytes', 'Read from block devices.'),
  pgpgout: counter('pgpgout', 'bytes', 'Written to block devices.'),
  pswpin: counter('pswpin', 'bytes', 'Read back from swap.'),
  pswpout: counter('pswpout', 'bytes', 'Written to swap.'),
  pgfault: counter('pgfault', 'count', 'Page faults, major ones included.'),
  pgmajfault: counter('pgmajfault', 'count', 'Page faults that had to wait for a disk.'),
  oom_kill: counter('oom_kill', 'count', 'Processes that the kernel killed for lack of memory (Linux 4.13 or later).'),
} as const satisfies Readonly<Record<string, Metric>>;

type VmstatKey = keyof typeof METRICS;

const KEYS = Object.keys(METRICS) as readonly VmstatKey[];
const LINE = new RegExp(`^(${KEYS.join('|')}) (\\d{1,20})$`, 'gm');

/** Bytes in one unit of a line: pgpgin and pgpgout are in KiB whatever their names say, the others in pages or events. */
const unitBytes = (key: VmstatKey, page: number): number =>
  key === 'pgpgin' || key === 'pgpgout' ? 1024 : key === 'pswpin' || key === 'pswpout' ? page : 1;

/** Parses `/proc/vmstat`: the lines that are used here, in bytes where they count pages or KiB. */
export function parseVmstat(text: string, page: number): ReadonlyMap<VmstatKey, number> {
  const found = new Map<VmstatKey, number>();
  for (const [, key, digits] of text.matchAll(LINE))
    found.set(key as VmstatKey, Number(digits) * unitBytes(key as VmstatKey, page));
  return found;
}

export const vmstat = source({
  name: 'vmstat',
  reads: ['/proc/vmstat'],
  metrics: Object.values(METRICS),
  open: ({ proc }) => {
    const page = pageSize(proc);
    return openedFile(`${proc}/vmstat`, (text) =>
      [...parseVmstat(text, page)].map(([key, value]) => reading(METRICS[key], value)),
    );
  },
});
