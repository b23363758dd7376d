/** A job of the demonstration: its requests, and a shell command with known memory use. */
export interface DemoJob {
  readonly name: string;
  readonly hVmem: string;
  readonly slots: number;
  /** The job's RLIMIT_AS in KiB, as Grid Engine would set it. */
  readonly limitKib: number;
  readonly command: string;
}

/** Three kinds of job that a site sees every day: a fitting request, a wasteful one, and a job that hits its limit. */
export const DEMO_JOBS: readonly DemoJob[] = [
  {
    // tail keeps the whole of a line that never ends in memory: a visible peak without any program to install.
    name: 'simulation',
    hVmem: '400M',
    slots: 1,
    limitKib: 400 * 1024,
    command:
      '{ for step in 1 2 3 4; do head -c 80000000 /dev/zero; sleep 0.8; done; } | { tail >/dev/null; } & ' +
      "awk 'BEGIN { for (i = 0; i < 20000000; i++) x += i }'; wait",
  },
  {
    name: 'analysis',
    hVmem: '4G',
    slots: 2,
    limitKib: 8 * 1024 * 1024,
    command:
      "for i in 1 2; do { head -c 30000000 /dev/zero; sleep 2.5; } | tail >/dev/null & done; awk 'BEGIN { for (i = 0; i < 9000000; i++) x += i }'; wait",
  },
  {
    name: 'assembly',
    hVmem: '250M',
    slots: 1,
    limitKib: 250 * 1024,
    command:
      '{ head -c 90000000 /dev/zero; sleep 1; head -c 90000000 /dev/zero; sleep 1.3; head -c 400000000 /dev/zero; } | tail >/dev/null',
  },
];
