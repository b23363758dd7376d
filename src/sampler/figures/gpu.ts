import { monotonicMs } from '../../base/monotonic';
import { parseSpoolEnvironment } from '../../gridengine/spool-environment';
import { gpuPids, heldGpus, type HeldGpus } from '../../sources/job/held-gpus';
import type { Gpu } from '../../sources/node/gpu';
import { gpusOf } from '../../sources/node/gpu-list';
import { drmProcess } from '../../sources/job/drm-process';
import { THIS_MACHINE, type Reading } from '../../sources/source';
import { chartedGpus, gpuMetrics, gpuNotes, newGpuUse, observeGpus, type GpuUse } from './gpu-use';
import { trustedSpoolFile } from '../job/job-description';
import { pidsOf, type FigurePart, type PartContext } from './part';

const WITHIN_MS = 20_000;
/** How long ended processes are remembered: long enough for a reading of the GPUs, too short for a re-used pid. */
const FORGET_MS = 60_000;

/** What the job held and used of the node's GPUs. */
export function gpuFigures({ run }: PartContext, sys = THIS_MACHINE.sys): FigurePart {
  const environment = parseSpoolEnvironment(trustedSpoolFile(run.spool, 'environment') ?? '');
  let use: GpuUse = newGpuUse(monotonicMs());
  let held: HeldGpus = { held: [], notes: [] };
  /** When each process was last seen (ms): those that have ended are still wanted, since the driver keeps their peaks. */
  const seen = new Map<number, number>();
  let living: readonly number[] = [];
  let ofDrm: readonly Reading[] = [];
  let askDrm: (() => void) | null = null;
  /** The GPUs as last read; whether the last reading had any. */
  let gpus: readonly Gpu[] = [];
  let areRead = true;

  function observe(readings: readonly Reading[], atMs: number): void {
    for (const pid of living) seen.set(pid, atMs);
    for (const [pid, lastMs] of seen) if (atMs - lastMs > FORGET_MS) seen.delete(pid);
    const pids = new Set(seen.keys());
    held = heldGpus(environment, gpus, gpuPids(readings), pids);
    use = observeGpus(use, { atMs, readings, held, gpus, pids });
  }

  return {
    look: ({ readings, link }) => {
      living = pidsOf(readings);
      for (const pid of living) seen.set(pid, monotonicMs());
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
      const atMs = monotonicMs();
      const wereRead = areRead;
      areRead = gpu.length > 0;
      // The next reading says nothing about the time in which they could not be read.
      if (gpus.length > 0 && !(wereRead && areRead)) observe([], atMs);
      if (!areRead) return;
      gpus = gpusOf(gpu, sys);
      if (gpus.some(({ vendor }) => vendor !== 'nvidia')) askDrm?.();
      observe([...gpu, ...ofDrm], atMs);
    },
    metrics: () => gpuMetrics(use),
    charted: () => chartedGpus(use),
    notes: () => [...held.notes, ...gpuNotes(use)],
  };
}
