import { listNames, readInteger, readText } from '../files';
import { metricsOf, opened, reading, source, unavailable, type Reading } from '../source';

const { gauge } = metricsOf('battery');

const BATTERY = { instance: 'battery' };

const CHARGE = gauge('charge', 'percent', 'Charge, of what the battery can hold now.', { ...BATTERY, resolution: 100 });
const POWER = gauge('power', 'watts', 'Power into (above 0) or out of (below 0) the battery.', {
  ...BATTERY,
  resolution: 1000,
});
const LEFT = gauge(
  'left',
  'seconds',
  'Until the battery is empty at the present power; only while it discharges.',
  // An estimate: only whole seconds are kept.
  { ...BATTERY, resolution: 1 },
);
const PLUGGED = gauge('plugged', 'count', '1: on mains power; 0: on batteries.');

/** A power supply's files (Documentation/ABI/testing/sysfs-class-power), in its units of micro- and plain numbers. */
interface SupplyFiles {
  readonly number: (file: string) => number | null;
  readonly word: (file: string) => string | null;
}

interface Battery {
  /** Percent. */
  readonly charge: number | null;
  /** Watts, negative while it discharges. */
  readonly power: number | null;
  /** Until empty; null: not discharging, or unknown. */
  readonly leftSeconds: number | null;
}

/** From a battery's files; drivers give energy and power, or charge and current. */
export function batteryState(files: SupplyFiles): Battery {
  const { number } = files;
  const now = number('energy_now') ?? number('charge_now');
  const full = number('energy_full') ?? number('charge_full');
  const charge = now !== null && full !== null && full > 0 ? (100 * now) / full : number('capacity');
  const voltage = number('voltage_now');
  const current = number('current_now');
  const microwatts = number('power_now') ?? (voltage !== null && current !== null ? (voltage * current) / 1e6 : null);
  const isDischarging = files.word('status') === 'Discharging';
  // Drivers do not agree on the sign of a current that leaves the battery.
  const power = microwatts === null ? null : (Math.abs(microwatts) / 1e6) * (isDischarging ? -1 : 1);
  const rate = number('energy_now') !== null ? microwatts : current;
  const isEmptying = isDischarging && now !== null && rate !== null && rate !== 0;
  return {
    charge: charge === null || charge < 0 ? null : Math.min(100, charge),
    power,
    leftSeconds: isEmptying ? (3600 * Math.max(0, now)) / Math.abs(rate) : null,
  };
}

const isMains = (type: string): boolean => type === 'Mains' || type.startsWith('USB');

/** Batteries of the machine and UPS that the kernel knows. Those of mice and keyboards (scope "Device") are left out. */
export const battery = source({
  name: 'battery',
  reads: ['/sys/class/power_supply/*'],
  metrics: [CHARGE, POWER, LEFT, PLUGGED],
  // Answers come from firmware or over a slow bus.
  blocking: true,
  interval: 60,
  open: ({ sys }) => {
    const directory = `${sys}/class/power_supply`;
    const read = (): readonly Reading[] | null => {
      const readings: Reading[] = [];
      const online: number[] = [];
      let isFound = false;
      let isDischarging = false;
      for (const name of listNames(directory)) {
        const files: SupplyFiles = {
          number: (file) => readInteger(`${directory}/${name}/${file}`),
          word: (file) => readText(`${directory}/${name}/${file}`)?.trim() ?? null,
        };
        const type = files.word('type') ?? '';
        if (isMains(type)) online.push(files.number('online') ?? 0);
        if ((type !== 'Battery' && type !== 'UPS') || files.word('scope') === 'Device' || files.number('present') === 0)
          continue;
        const { charge, power, leftSeconds } = batteryState(files);
        if (charge === null && power === null) continue;
        isFound = true;
        isDischarging ||= files.word('status') === 'Discharging';
        if (charge !== null) readings.push(reading(CHARGE, charge, name));
        if (power !== null) readings.push(reading(POWER, power, name));
        if (leftSeconds !== null) readings.push(reading(LEFT, leftSeconds, name));
      }
      if (!isFound) return null;
      const isPlugged = online.length > 0 ? online.some((state) => state > 0) : !isDischarging;
      return [reading(PLUGGED, isPlugged ? 1 : 0), ...readings];
    };
    return opened(read, () => unavailable(`no battery below ${directory}`));
  },
});
