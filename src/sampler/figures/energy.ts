import { charge, newEnergyAccount } from '../energy';
import type { NodeCharges } from '../listener/node-charges';
import { useBetween } from '../listener/node-charges';
import type { FigurePart } from './part';

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

/** The job's share of the node's energy, by the rule of energy.ts. */
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
    metrics: () =>
      account.seconds === 0
        ? {}
        : {
            energy_package_joules: rounded(account.packageJoules),
            energy_dram_joules: rounded(account.dramJoules),
            energy_idle_joules: rounded(account.idleJoules),
            energy_node_joules: rounded(account.nodeJoules),
            energy_covered_seconds: rounded(account.coveredSeconds),
          },
    notes: () => [],
  };
}
