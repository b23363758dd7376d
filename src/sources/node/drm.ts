import { largestOfKnown } from '../../base/known';
import { listNames, readNatural, readText } from '../files';
import { knownReadings, metricsOf, opened, source, unavailable, type Metric, type Reading } from '../source';
import { pciAddress, type Gpu } from './gpu';

const { gauge, counter } = metricsOf('drm');

const GPU = { instance: 'gpu' };
/** The driver gives whole numbers of these. */
const WHOLE = { ...GPU, resolution: 1 };
const THOUSANDTHS = { ...GPU, resolution: 1000 };

const METRICS = {
  vendor: gauge('vendor', 'count', "PCI number of the GPU's maker.", GPU),
  memoryTotal: gauge('memory_total', 'bytes', 'Video memory of the GPU (mem_info_vram_total).', GPU),
  memoryUsed: gauge('memory_used', 'bytes', 'Video memory that is allocated (mem_info_vram_used).', GPU),
  utilization: gauge(
    'utilization',
    'percent',
    "Share of time in which the GPU's engines were busy (gpu_busy_percent).",
    WHOLE,
  ),
  memoryUtilization: gauge(
    'memory_utilization',
    'percent',
    "Share of time in which the GPU's memory was busy (mem_busy_percent).",
    WHOLE,
  ),
  power: gauge('power', 'watts', 'Power draw (hwmon power1_average, else power1_input).', THOUSANDTHS),
  energy: counter('energy', 'joules', 'Energy since the driver was loaded (hwmon energy1_input).', THOUSANDTHS),
  frequency: gauge('frequency', 'hertz', "Clock of the fastest of the GPU's GTs (i915 and xe).", GPU),
} as const;

interface Card {
  readonly gpu: Gpu;
  readonly driver: 'amdgpu' | 'i915' | 'xe';
  /** "/sys/class/drm/card1" */
  readonly path: string;
}

const VENDOR = { amdgpu: 'amd', i915: 'intel', xe: 'intel' } as const;
const isDriver = (name: string | undefined): name is Card['driver'] => name !== undefined && name in VENDOR;

/** PCI vendor numbers. */
const VENDOR_NUMBER = { amd: 0x1002, intel: 0x8086 } as const;

const MICRO = 1e-6;
const MHZ = 1e6;

function readPercent(path: string): number | null {
  const value = readNatural(path);
  return value !== null && value <= 100 ? value : null;
}

const times = (value: number | null, factor: number): number | null => (value === null ? null : value * factor);

/** The graphics cards below /sys/class/drm whose drivers are known here, in the order of their PCI addresses. */
function findCards(sys: string): readonly Card[] {
  const root = `${sys}/class/drm`;
  const found = listNames(root).flatMap((name) => {
    if (!/^card\d+$/.test(name)) return [];
    const path = `${root}/${name}`;
    // Partitions of an AMD accelerator have a card each, but no PCI address of their own.
    const event = new Map(
      (readText(`${path}/device/uevent`) ?? '').split('\n').map((line) => {
        const at = line.indexOf('=');
        return [line.slice(0, at), line.slice(at + 1)] as const;
      }),
    );
    const driver = event.get('DRIVER');
    const pci = pciAddress(event.get('PCI_SLOT_NAME') ?? '');
    if (!isDriver(driver) || pci === null) return [];
    const unique = readText(`${path}/device/unique_id`)?.trim().toLowerCase();
    return [{ path, driver, pci, unique }];
  });
  found.sort((one, other) => (one.pci < other.pci ? -1 : 1));
  const counts = { amd: 0, intel: 0 };
  return found.map(({ path, driver, pci, unique }) => {
    const vendor = VENDOR[driver];
    // As ROCR_VISIBLE_DEVICES names them.
    const aliases = unique !== undefined && /^[\da-f]{8,16}$/.test(unique) ? [`GPU-${unique}`] : [];
    return { path, driver, gpu: { id: pci, vendor, index: counts[vendor]++, parent: null, aliases } };
  });
}

/** AMD's and Intel's GPUs of this host; the instance of their readings is the PCI address. */
export const drmGpus = (sys: string): readonly Gpu[] => findCards(sys).map(({ gpu }) => gpu);

/** First of the hwmon files that holds a number; a card has one hwmon directory. */
function hwmon(device: string, names: readonly string[]): number | null {
  for (const directory of listNames(`${device}/hwmon`))
    for (const name of names) {
      const value = readNatural(`${device}/hwmon/${directory}/${name}`);
      if (value !== null) return value;
    }
  return null;
}

/** MHz of the fastest GT: xe by tile, i915 by GT, before Linux 5.19 one file for all. */
function fastestClock(path: string, driver: Card['driver']): number | null {
  if (driver === 'amdgpu') return null;
  const files = [
    ...listNames(`${path}/device`)
      .filter((tile) => /^tile\d+$/.test(tile))
      .flatMap((tile) =>
        listNames(`${path}/device/${tile}`)
          .filter((gt) => /^gt\d+$/.test(gt))
          .map((gt) => `${path}/device/${tile}/${gt}/freq0/act_freq`),
      ),
    ...listNames(`${path}/gt`).map((gt) => `${path}/gt/${gt}/rps_act_freq_mhz`),
    `${path}/gt_act_freq_mhz`,
  ];
  return largestOfKnown(files.map(readNatural));
}

function readCard({ gpu, path, driver }: Card): readonly Reading[] {
  const device = `${path}/device`;
  const amd = driver === 'amdgpu';
  // Reading its sensors would wake it up.
  const asleep = readText(`${device}/power/runtime_status`)?.trim() === 'suspended';
  const awake = (value: () => number | null): number | null => (asleep ? null : value());
  const values: readonly (readonly [Metric, number | null])[] = [
    [METRICS.vendor, VENDOR_NUMBER[VENDOR[driver]]],
    [METRICS.memoryTotal, amd ? readNatural(`${device}/mem_info_vram_total`) : null],
    [METRICS.memoryUsed, awake(() => (amd ? readNatural(`${device}/mem_info_vram_used`) : null))],
    [METRICS.utilization, awake(() => (amd ? readPercent(`${device}/gpu_busy_percent`) : null))],
    [METRICS.memoryUtilization, awake(() => (amd ? readPercent(`${device}/mem_busy_percent`) : null))],
    [METRICS.power, awake(() => times(hwmon(device, ['power1_average', 'power1_input']), MICRO))],
    // xe: 1 is the card, 2 the chip, and some cards count only that.
    [METRICS.energy, awake(() => times(hwmon(device, ['energy1_input', 'energy2_input']), MICRO))],
    [METRICS.frequency, awake(() => times(fastestClock(path, driver), MHZ))],
  ];
  return knownReadings(values, gpu.id);
}

export const drm = source({
  name: 'drm',
  reads: ['/sys/class/drm/card*/device', '/sys/class/drm/card*/device/hwmon'],
  metrics: Object.values(METRICS),
  blocking: true,
  open: ({ sys }) =>
    opened(
      () => findCards(sys).flatMap(readCard),
      () => unavailable('no AMD or Intel GPU below /sys/class/drm'),
    ),
});
