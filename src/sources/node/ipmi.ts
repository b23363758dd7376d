import { source, unavailable, type Metric, type Place, type Reading, type Unavailable } from '../source';
import { commandWords, runBounded, whyNotRunnable } from './bounded-command';
import { parseIpmiPower } from './ipmi-power';

const watts = (what: string, help: string): Metric => ({
  name: `ipmi_${what}_watts`,
  unit: 'watts',
  kind: 'gauge',
  scope: 'node',
  resolution: 10,
  help,
});

const POWER = watts(
  'power',
  'Power of the whole node at this moment, as its BMC measures it (fans and GPUs included).',
);
const AVERAGE = watts('average_power', "The same, averaged over the BMC's own period.");

const FIX = 'install FreeIPMI (ipmi-dcmi), or set command in [sources.ipmi]: an absolute path and its arguments';
const MOST_TIMEOUT_S = 600;

function timeoutSeconds({ timeout }: Place['options']): number {
  const seconds = Number(timeout);
  return seconds > 0 ? Math.min(seconds, MOST_TIMEOUT_S) : 5;
}

export const ipmi = source({
  name: 'ipmi',
  reads: ['/usr/sbin/ipmi-dcmi --get-system-power-statistics'],
  metrics: [POWER, AVERAGE],
  blocking: true,
  interval: 30,
  /**
   * command: split at blanks, run without a shell ("/usr/bin/ipmitool dcmi power reading" is another one that is
   * understood). timeout: seconds until it is killed.
   */
  options: { command: '/usr/sbin/ipmi-dcmi --get-system-power-statistics', timeout: 5 },
  // Opened and read.
  patience: (options) => 2 * timeoutSeconds(options) + 1,
  open: ({ options }) => {
    const words = commandWords(String(options.command ?? ''));
    const timeoutMs = Math.round(1000 * timeoutSeconds(options));
    const absent = whyNotRunnable(words, FIX);
    if (absent !== null) return absent;
    const read = (): readonly Reading[] | Unavailable => {
      const output = runBounded(words, timeoutMs);
      if (typeof output !== 'string') return output;
      const { current, average } = parseIpmiPower(output);
      const readings: Reading[] = [];
      if (current !== null) readings.push({ metric: POWER.name, instance: '', value: current });
      if (average !== null) readings.push({ metric: AVERAGE.name, instance: '', value: average });
      return readings.length > 0 ? readings : unavailable(`${words[0] ?? ''} reports no power`, FIX);
    };
    const first = read();
    return 'unavailable' in first ? first : { read, close: () => undefined };
  },
});
