import type { Reading } from '../source';
import { drmGpus } from './drm';
import type { Gpu } from './gpu';

/** NVML's names of MIG instances begin like this. */
const MIG = /^MIG-/i;

/** The GPUs in the readings of `nvidia` and `drm`: what an index or a name in a job's environment means. */
export function gpusOf(readings: readonly Reading[], sys: string): readonly Gpu[] {
  const parents = new Map(
    readings.filter(({ metric }) => metric === 'nvidia_parent_index').map(({ instance, value }) => [instance, value]),
  );
  // An instance whose GPU gives no index is left out: its own number counts within that GPU, so no environment can name
  // it.
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
    parent: parents.has(instance) ? (whole.get(parents.get(instance) ?? -1) ?? null) : null,
    aliases: [],
  }));
  const cards = new Set(readings.filter(({ metric }) => metric === 'drm_vendor').map(({ instance }) => instance));
  return cards.size === 0 ? gpus : [...gpus, ...drmGpus(sys).filter(({ id }) => cards.has(id))];
}
