import type { PerfCalls, PerfRequest } from '../../native/perf-event';
import type { Encoding, ResolvedEvent } from './perf-event-names';

/** One code of one event, as it is opened. */
export interface Member {
  /** Index of the event that it belongs to. */
  readonly event: number;
  readonly encoding: Encoding;
}

export type Group = readonly Member[];

/** Where a group counts. */
export interface Location {
  readonly pid: number;
  readonly inherit: boolean;
  readonly userOnly: boolean;
}

/** One code that was opened. */
export interface Opened {
  readonly member: Member;
  readonly fd: number;
  /** Starts by itself once enabled; the others start with the leader before them. */
  readonly leads: boolean;
}

interface OpenedGroup {
  readonly opened: readonly Opened[];
  readonly refused: readonly { readonly member: Member; readonly errno: number }[];
}

/** Events whose ratios mean something: worth counting at the very same time, in this order of importance. */
const PARTNERS: readonly string[] = [
  'cpu_cycles',
  'instructions',
  'cache_misses',
  'cache_references',
  'branch_misses',
  'branch_instructions',
  'llc_misses',
  'l1d_read_misses',
  'dtlb_misses',
];

/**
 * Cycles and instructions have counters of their own; of others, every server CPU has at least four: three are used.
 */
const MOST_IN_GROUP = 5;

/**
 * Groups the codes that are to be counted at the same time: those that ratios are made of, for each kind of core, as
 * many as may fit the CPU. Every other code stands alone, so that the kernel can fit it in wherever there is room.
 */
export function planGroups(events: readonly ResolvedEvent[]): readonly Group[] {
  const members = events.flatMap((event, index) => event.encodings.map((encoding) => ({ event: index, encoding })));
  const rank = ({ event }: Member): number => PARTNERS.indexOf(events[event]?.name ?? '');
  const alone = members.filter((member) => rank(member) < 0);
  const partners = members.filter((member) => rank(member) >= 0).sort((a, b) => rank(a) - rank(b));
  // Members on the same kind of core have the same list of CPUs.
  const core = ({ encoding }: Member): string => encoding.cpus?.join() ?? '';
  const groups = [...new Set(partners.map(core))].flatMap((cpus) => {
    const group = partners.filter((member) => core(member) === cpus);
    return [group.slice(0, MOST_IN_GROUP), ...group.slice(MOST_IN_GROUP).map((member) => [member])];
  });
  return [...groups, ...alone.map((member) => [member])];
}

const request = ({ encoding }: Member, at: Location, leader: number): PerfRequest => ({
  type: encoding.type,
  config: encoding.config,
  config1: encoding.config1,
  config2: encoding.config2,
  pid: at.pid,
  cpu: -1,
  group: leader,
  inherit: at.inherit,
  disabled: leader < 0,
  userOnly: at.userOnly,
});

/** Opens a group, not yet enabled. A member that can't join is opened by itself; if that fails, too, it is refused. */
export function openGroup(group: Group, at: Location, calls: PerfCalls): OpenedGroup {
  const opened: Opened[] = [];
  const refused: OpenedGroup['refused'][number][] = [];
  let leader = -1;
  for (const member of group) {
    const joined = leader < 0 ? -1 : calls.open(request(member, at, leader));
    const fd = joined >= 0 ? joined : calls.open(request(member, at, -1));
    if (fd < 0) refused.push({ member, errno: -fd });
    else opened.push({ member, fd, leads: joined < 0 });
    if (leader < 0 && fd >= 0) leader = fd;
  }
  return { opened, refused };
}

/** A group that fits gets on the CPU within the system call that enables it; this many readings make sure. */
const TRIAL_READINGS = 20;

const HERE = { pid: 0, inherit: false } as const;

/** Whether the CPU counts all of a group at once, tried on the calling thread. */
function fits(group: Group, userOnly: boolean, calls: PerfCalls): boolean {
  const { opened } = openGroup(group, { ...HERE, userOnly }, calls);
  const [leader, ...others] = opened;
  let runs = false;
  if (leader !== undefined && opened.length === group.length && !others.some(({ leads }) => leads)) {
    calls.enable(leader.fd);
    for (let reading = 0; reading < TRIAL_READINGS && !runs; reading++)
      runs = (calls.read(leader.fd)?.runningNs ?? 0) > 0;
  }
  for (const { fd } of opened) calls.close(fd);
  return runs;
}

/** Members that the CPU has a counter for at all. */
function supported(group: Group, userOnly: boolean, calls: PerfCalls): Group {
  const { opened } = openGroup(group, { ...HERE, userOnly }, calls);
  for (const { fd } of opened) calls.close(fd);
  return opened.map(({ member }) => member);
}

export interface Split {
  readonly groups: readonly Group[];
  /** Whether any group had to be split. */
  readonly split: boolean;
}

/**
 * Splits groups that the CPU can't count at once. The kernel refuses only what could never fit; a counter that the NMI
 * watchdog or another program holds makes a group wait for ever without an error, so each group is tried. Groups of
 * hybrid CPUs are left to the kernel: the trial may run on the wrong kind of core.
 */
export function splitGroups(groups: readonly Group[], userOnly: boolean, calls: PerfCalls): Split {
  let split = false;
  const single = (member: Member): Group => [member];
  const tried = groups.flatMap((group): readonly Group[] => {
    if (group.length < 2 || group.some(({ encoding }) => encoding.cpus !== null)) return [group];
    const usable = supported(group, userOnly, calls);
    const absent = group.filter((member) => !usable.includes(member)).map(single);
    let size = usable.length;
    while (size > 1 && !fits(usable.slice(0, size), userOnly, calls)) size--;
    split ||= size < usable.length;
    return [usable.slice(0, size), ...usable.slice(size).map(single), ...absent].filter(({ length }) => length > 0);
  });
  return { groups: tried, split };
}
