import type { Reading } from '../source';
import { VENDOR_NUMBER } from './drm';
import type { Gpu } from './gpu';

/** NVML names instances so. */
const MIG = /^MIG-/i;
const PCI = /^[\da-f]{4,8}:[\da-f]{2}:[\da-f]{2}\.[\da-f]$/;

/** The GPUs in the readings of `nvidia` and `drm`: what an index in a job's environment means. */
export function gpusOf(readings: readonly Reading[]): readonly Gpu[] {
  const parents = new Map(
    readings.filter(({ metric }) => metric === 'nvidia_parent_index').map(({ instance, value }) => [instance, value]),
  );
  // An instance whose GPU gives no index has a number among that GPU's instances: no index of an environment means it.
  const nvidia = readings.filter(
    ({ metric, instance }) => metric === 'nvidia_index' && (parents.has(instance) || !MIG.test(instance)),
  );
  const whole = new Map(
    nvidia.filter(({ instance }) => !parents.has(instance)).map((one) => [one.value, one.instance]),
  );
  const gpus: Gpu[] = nvidia.map(({ instance, value }) => ({
    id: instance,
    vendor: 'nvidia',
    index: value,
    name: '',
    pci: null,
    parent: parents.has(instance) ? (whole.get(parents.get(instance) ?? -1) ?? null) : null,
    aliases: [],
  }));
  for (const vendor of ['amd', 'intel'] as const) {
    const cards = readings.filter(
      ({ metric, instance, value }) => metric === 'drm_vendor' && PCI.test(instance) && value === VENDOR_NUMBER[vendor],
    );
    [...new Set(cards.map(({ instance }) => instance))].sort().forEach((id, index) => {
      gpus.push({ id, vendor, index, name: '', pci: id, parent: null, aliases: [] });
    });
  }
  return gpus;
}
