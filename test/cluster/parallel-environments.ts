export interface ParallelEnvironment {
  readonly name: string;
  /** How slots are distributed over hosts; a number is the slots on each host. */
  readonly allocationRule: '$round_robin' | '$fill_up' | '$pe_slots' | '1' | '2';
  /** Whether the job's script takes a slot, so that one `qrsh -inherit` task fewer is allowed. */
  readonly jobIsFirstTask: boolean;
  /** Whether there is one accounting line for the whole job instead of one for each task. */
  readonly accountingSummary: boolean;
}

const tight: Omit<ParallelEnvironment, 'name'> = {
  allocationRule: '$round_robin',
  jobIsFirstTask: false,
  accountingSummary: false,
};

/** The parallel environments of every cell, all of them with control_slaves TRUE; `tight` and its variants. */
export const parallelEnvironments: readonly ParallelEnvironment[] = [
  { ...tight, name: 'smp', allocationRule: '$pe_slots', jobIsFirstTask: true },
  { ...tight, name: 'mpi' },
  { ...tight, name: 'tight' },
  { ...tight, name: 'tight-first', jobIsFirstTask: true },
  { ...tight, name: 'tight-summary', accountingSummary: true },
  { ...tight, name: 'tight-first-summary', jobIsFirstTask: true, accountingSummary: true },
  { ...tight, name: 'tight-fill', allocationRule: '$fill_up' },
  { ...tight, name: 'tight-slots', allocationRule: '$pe_slots' },
  { ...tight, name: 'tight-fixed1', allocationRule: '1' },
  { ...tight, name: 'tight-fixed2', allocationRule: '2' },
];
