import { metricsOf, opened, reading, source, unavailable, type Place, type Reading } from '../source';
import { commandWords, runBounded, whyNotRunnable } from './bounded-command';
import { parseIpmiPower } from './ipmi-power';

const { gauge } = metricsOf('ipmi');
const TENTHS = { resolution: 10 };

const POWER = gauge(
  'power',
  'watts',
  'Power of the whole node at this moment, as its BMC measures it (fans and GPUs included).',
  TENTHS,
);
const AVERAGE = gauge('average_power', 'watts', "Power of the whole node, averaged over the BMC's own period.", TENTHS);

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
  // The command is run once to open and once to read.
  patience: (options) => 2 * timeoutSeconds(options) + 1,
  open: ({ options }) => {
    const words = commandWords(String(options.command ?? ''));
    const timeoutMs = Math.round(1000 * timeoutSeconds(options));
    const absent = whyNotRunnable(words, FIX);
    if (absent !== null) return absent;
    const silent = unavailable(`${words[0] ?? ''} reports no power`, FIX);
    let why = silent;
    const read = (): readonly Reading[] => {
      const output = runBounded(words, timeoutMs);
      why = typeof output === 'string' ? silent : output;
      const { current, average } = parseIpmiPower(typeof output === 'string' ? output : '');
      return [
        ...(current === null ? [] : [reading(POWER, current)]),
        ...(average === null ? [] : [reading(AVERAGE, average)]),
      ];
    };
    return opened(read, () => why);
  },
});
