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
  return {
    look: (look) => {
      ({ cpuSeconds } = look);
      rssBytes = look.readings.rss;
    },
    node: ({ charges }) => {
      if (charges === null) return;
      if (before !== null)
        account = charge(account, {
          node: useBetween(before.charges, charges),
          job: { cpuSeconds: Math.max(0, cpuSeconds - before.cpuSeconds), rssBytes },
          idle: { watts: charges.idleWatts, configured: false },
        });
      before = { charges, cpuSeconds };
    },
    metrics: () => energyMetrics(account),
    notes: () => (before?.charges.disagreement == null ? [] : [`Energy: ${before.charges.disagreement}.`]),
  };
}
