import { monotonicMs } from '../../base/monotonic';
import { parseSpoolEnvironment } from '../../gridengine/spool-environment';
import { gpuPids, heldGpus, type HeldGpus } from '../../sources/job/held-gpus';
import { gpusOf } from '../../sources/node/gpu-list';
import { drmProcess } from '../../sources/job/drm-process';
import { THIS_MACHINE, type Reading } from '../../sources/source';
import { chartedGpus, gpuMetrics, gpuNotes, newGpuUse, observeGpus, type GpuUse } from './gpu-use';
import { trustedSpoolFile } from '../job/job-description';
import { pidsOf, type FigurePart, type PartContext } from './part';

const WITHIN_MS = 20_000;

/** What the job held and used of the node's GPUs. */
export function gpuFigures({ run }: PartContext, sys = THIS_MACHINE.sys): FigurePart {
  const environment = parseSpoolEnvironment(trustedSpoolFile(run.spool, 'environment') ?? '');
  let use: GpuUse = newGpuUse(monotonicMs());
  let held: HeldGpus = { held: [], notes: [] };
  /** Those that have ended since the last look at the GPUs are still wanted: the driver keeps their peaks. */
  let pids = new Set<number>();
  let ofDrm: readonly Reading[] = [];
  let askDrm: (() => void) | null = null;

  return {
    look: ({ readings, link }) => {
      const living = pidsOf(readings);
      for (const pid of living) pids.add(pid);
      askDrm =
        link === null
          ? null
          : (): void => {
              void link.read(drmProcess.name, living, WITHIN_MS).then((answer) => {
                ofDrm = answer?.readings ?? [];
              });
            };
    },
    node: ({ gpu }) => {
      if (gpu.length === 0) return;
      const gpus = gpusOf(gpu, sys);
      if (gpus.some(({ vendor }) => vendor !== 'nvidia')) askDrm?.();
      const readings = [...gpu, ...ofDrm];
      held = heldGpus(environment, gpus, gpuPids(readings), pids);
      use = observeGpus(use, { atMs: monotonicMs(), readings, held, gpus, pids });
      pids = new Set();
    },
    metrics: () => gpuMetrics(use),
    charted: () => chartedGpus(use),
    notes: () => [...held.notes, ...gpuNotes(use)],
  };
}
