import { charge, energyMetrics, newEnergyAccount } from './energy-charges';
import type { NodeCharges } from '../listener/node-charges';
import { useBetween } from '../listener/node-charges';
import type { FigurePart } from './part';

/** The job's share of the node's energy, by the rule of energy-charges.ts. */
export function energyFigures(): FigurePart {
  let account = newEnergyAccount();
  let before: { readonly charges: NodeCharges; readonly cpuSeconds: number } | null = null;
  let cpuSeconds = 0;
  let rssBytes = 0;
  /** CPU time of the job beyond the node's: job and node are not read at the same moments. It is charged next time. */
  let owedSeconds = 0;
  /** The job has been read since it was last charged, or will not be read again. */
  let isLookedAt = false;
  return {
    look: (look) => {
      ({ cpuSeconds } = look);
      rssBytes = look.readings.rss;
      isLookedAt = true;
    },
    finish: () => {
      isLookedAt = true;
    },
    node: ({ charges }) => {
      // Until the job's next reading its CPU time stands still, while the node's goes on.
      if (charges === null || (before !== null && !isLookedAt)) return;
      isLookedAt = false;
      if (before !== null) {
        const node = useBetween(before.charges, charges);
        const used = Math.max(0, cpuSeconds - before.cpuSeconds);
        const charged = Math.min(used + owedSeconds, node.busyCpuSeconds ?? Infinity);
        owedSeconds = Math.min(used + owedSeconds - charged, used);
        account = charge(account, {
          node,
          job: { cpuSeconds: charged, rssBytes },
          idle: { watts: charges.idleWatts, configured: false },
        });
      }
      before = { charges, cpuSeconds };
    },
    metrics: () => energyMetrics(account),
    notes: () => (before?.charges.disagreement == null ? [] : [`Energy: ${before.charges.disagreement}.`]),
  };
}
