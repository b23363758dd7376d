import { listNames, readInteger, readText, whyUnreadable } from '../files';
import { words } from '../numbers';
import { knownReadings, metricsOf, opened, source, unavailable, type Reading } from '../source';

const { gauge } = metricsOf('cpufreq');

const POLICY = { instance: 'cpu' };

const CURRENT = gauge('current', 'hertz', 'Frequency of the CPUs that share a clock, by the first of them.', POLICY);
const MINIMUM = gauge('minimum', 'hertz', 'Lowest frequency that these CPUs may be set to.', POLICY);
const MAXIMUM = gauge('maximum', 'hertz', 'Highest frequency that these CPUs may be set to.', POLICY);
const MEAN = gauge('mean', 'hertz', 'Mean frequency of all CPUs.');
const MEAN_MINIMUM = gauge('mean_minimum', 'hertz', 'Mean over all CPUs of the lowest frequency.');
const MEAN_MAXIMUM = gauge('mean_maximum', 'hertz', 'Mean over all CPUs of the highest frequency.');

/** CPUs that share one clock; in hertz, null: unknown. */
export interface Clock {
  readonly cpu: string;
  /** How many CPUs it drives. */
  readonly cpus: number;
  readonly current: number | null;
  readonly minimum: number | null;
  readonly maximum: number | null;
}

/** "cpu MHz" of each CPU of `/proc/cpuinfo`; x86 only. 0 (unknown) and what is no frequency are left out. */
export function parseCpuinfoClocks(text: string): readonly Clock[] {
  const clocks: Clock[] = [];
  let cpu = '';
  for (const [, key, value] of text.matchAll(/^(processor|cpu MHz)[ \t]*: (\d{1,6}(?:\.\d{1,6})?)$/gm))
    if (key === 'processor') cpu = String(value);
    else if (cpu !== '' && Number(value) > 0)
      clocks.push({ cpu, cpus: 1, current: Math.round(Number(value) * 1e6), minimum: null, maximum: null });
  return clocks;
}

/** From a directory of cpufreq; none while all of its CPUs are offline: it says "<unknown>" then. */
function readClock(directory: string, cpu: string, cpus: number): readonly Clock[] {
  const hertz = (file: string): number | null => {
    const kilohertz = readInteger(`${directory}/${file}`);
    return kilohertz === null || kilohertz <= 0 ? null : kilohertz * 1000;
  };
  const current = hertz('scaling_cur_freq');
  if (cpus === 0 || current === null) return [];
  return [{ cpu, cpus, current, minimum: hertz('scaling_min_freq'), maximum: hertz('scaling_max_freq') }];
}

function readClocks(sys: string): readonly Clock[] {
  const cpus = `${sys}/devices/system/cpu`;
  const policies = listNames(`${cpus}/cpufreq`).flatMap((name) => {
    const directory = `${cpus}/cpufreq/${name}`;
    const first = /^policy(\d+)$/.exec(name)?.[1];
    if (first === undefined) return [];
    return readClock(directory, first, words((readText(`${directory}/affected_cpus`) ?? '').trim()).length);
  });
  if (policies.length > 0) return policies;
  // Before Linux 4.3 there is a directory for each CPU only.
  return listNames(cpus).flatMap((name) => {
    const cpu = /^cpu(\d+)$/.exec(name)?.[1];
    return cpu === undefined ? [] : readClock(`${cpus}/${name}/cpufreq`, cpu, 1);
  });
}

/** Mean over CPUs, not over clocks; null: no clock knows it. */
function meanHertz(clocks: readonly Clock[], pick: (clock: Clock) => number | null): number | null {
  let sum = 0;
  let cpus = 0;
  for (const clock of clocks) {
    const hertz = pick(clock);
    if (hertz === null) continue;
    sum += hertz * clock.cpus;
    cpus += clock.cpus;
  }
  return cpus === 0 ? null : sum / cpus;
}

function cpufreqReadings(clocks: readonly Clock[]): readonly Reading[] {
  const means = knownReadings([
    [MEAN, meanHertz(clocks, ({ current }) => current)],
    [MEAN_MINIMUM, meanHertz(clocks, ({ minimum }) => minimum)],
    [MEAN_MAXIMUM, meanHertz(clocks, ({ maximum }) => maximum)],
  ]);
  const each = clocks.flatMap(({ cpu, current, minimum, maximum }) =>
    knownReadings(
      [
        [CURRENT, current],
        [MINIMUM, minimum],
        [MAXIMUM, maximum],
      ],
      cpu,
    ),
  );
  return [...means, ...each];
}

export const cpufreq = source({
  name: 'cpufreq',
  reads: ['/sys/devices/system/cpu/cpufreq/policy*', '/sys/devices/system/cpu/cpu*/cpufreq', '/proc/cpuinfo'],
  metrics: [MEAN, MEAN_MINIMUM, MEAN_MAXIMUM, CURRENT, MINIMUM, MAXIMUM],
  // Linux 4.13 to 5.17 on x86 sleeps 10 to 20 ms for each CPU to measure it (prometheus/node_exporter#1086).
  blocking: true,
  interval: 60,
  open: ({ proc, sys }) => {
    const path = `${proc}/cpuinfo`;
    const read = (): readonly Reading[] => {
      const clocks = readClocks(sys);
      return cpufreqReadings(clocks.length > 0 ? clocks : parseCpuinfoClocks(readText(path) ?? ''));
    };
    return opened(read, () =>
      readText(path) === null
        ? whyUnreadable(path)
        : unavailable(`no cpufreq below ${sys}/devices/system/cpu and no "cpu MHz" in ${path}`),
    );
  },
});
