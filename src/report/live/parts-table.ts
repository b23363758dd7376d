import { shareOf } from '../../record/peak-figure';
import type { HostView, JobPart } from '../../live/cluster-view';
import { shareText } from '../screen/gauge';
import { peakOfPart, useOfPart } from '../../live/job-parts';
import { bytesLabel, jobNumber, limitLabel } from './labels';
import type { LiveColumn } from './live-column';

/** A line below a host: what a job has there, or one of its tasks. */
export interface PartRow {
  readonly role: string;
  readonly part: JobPart;
  /** null: the line is for all that the job has on this host. */
  readonly task: { readonly id: string; readonly maxvmem: number | null; readonly vmem: number | null } | null;
}

/** A line for what the job has here, and one for each of its tasks where there are more than the master. */
function partRows(part: JobPart): readonly PartRow[] {
  const whole: PartRow = { role: part.master ? 'master' : 'slave', part, task: null };
  if (part.tasks.length === 0 && part.pastMaxvmem === null) return [whole];
  const master = { id: '(master)', maxvmem: part.masterMaxvmem, vmem: part.masterVmem };
  const past = { id: '(ended)', maxvmem: part.pastMaxvmem, vmem: null };
  return [
    whole,
    ...(part.masterMaxvmem === null ? [] : [{ role: '', part, task: master }]),
    ...part.tasks.map((task): PartRow => ({ role: ' task', part, task })),
    ...(part.pastMaxvmem === null ? [] : [{ role: '', part, task: past }]),
  ];
}

/** The lines below a host, its jobs by number. */
export function hostRows(host: HostView): readonly PartRow[] {
  return host.parts.flatMap(partRows);
}

/** The columns of a job on a host, those of qmemview. */
export const PART_COLUMNS: readonly LiveColumn<PartRow>[] = [
  { head: '', atLeast: 6, cell: ({ role }) => role || ' ' },
  { head: 'job', atLeast: 7, cell: ({ part, task }) => (task === null ? jobNumber(part) : ' ') },
  {
    head: 'owner',
    atLeast: 6,
    shrinksTo: 6,
    cell: ({ part, task }, screen) => (task === null ? screen.safe(part.owner) : ' '),
  },
  {
    head: 'name',
    atLeast: 15,
    shrinksTo: 10,
    cell: ({ part, task }, screen) => screen.safe(task === null ? part.name : task.id),
  },
  {
    head: '%',
    align: 'right',
    dispensable: 3,
    atLeast: 5,
    has: ({ part }) => shareOf(peakOfPart(part), part.limit) !== null,
    cell: ({ part, task }, screen) => (task === null ? shareText(shareOf(peakOfPart(part), part.limit), screen) : ' '),
  },
  {
    head: 'used',
    align: 'right',
    atLeast: 8,
    has: () => true,
    cell: ({ part, task }) => bytesLabel(task === null ? peakOfPart(part) : task.maxvmem),
  },
  {
    head: 'now',
    align: 'right',
    dispensable: 2,
    atLeast: 8,
    has: () => true,
    cell: ({ part, task }) => {
      if (task === null) return bytesLabel(useOfPart(part));
      return task.id === '(ended)' ? ' ' : bytesLabel(task.vmem);
    },
  },
  {
    head: 'requested',
    align: 'right',
    atLeast: 8,
    has: () => true,
    cell: ({ part, task }) => (task === null ? limitLabel(part) : ' '),
  },
  {
    head: 'slots',
    align: 'right',
    dispensable: 1,
    cell: ({ part, task }) => (task === null ? String(part.slots) : ' '),
  },
];
