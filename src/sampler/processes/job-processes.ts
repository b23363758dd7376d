import { processesIn } from '../../sources/job/job-cgroup';
import { ticksAt } from '../../sources/proc/clock';
import { listsChildren, ProcessFiles, type DescriptorBudget } from '../../sources/proc/process-files';
import { isDead, type Stat } from '../../sources/proc/stat';
import { isBeingKilled, realUid } from '../../sources/proc/status';
import { integer, list, nullable, object, type ValueOf } from '../../base/shape';
import type { CounterPrecision } from '../peaks/slack';
import { carriesGroup, commandName, JobProcess, SAVED_PROCESS } from './job-process';
import type { Lineage } from './lineage';
import { newMachineScan, type MachineScan, type SeenProcess } from './machine-scan';
import { Tick, type TickReadings } from './tick';
import type { Counters } from './totals';

/** Which processes are a job's, and how they are read. */
export interface ClaimRules {
  readonly procRoot: string;
  /** Parent of the job's first process (the shepherd); its children that carry the group are in the job's tree, too. */
  readonly shepherdPid: number | null;
  /** Additional group id; null: none, then nothing is known of processes that leave the tree. */
  readonly group: number | null;
  /** Real user id of the job's processes; null: not known (yet), then none is claimed by the group alone. */
  readonly uid: () => number | null;
  /** Nothing that started before this (clock ticks after boot) belongs to the job: group ids are re-used. */
  readonly notBefore: number;
  readonly precision: CounterPrecision;
  readonly sharesAddressSpace: (pid: number, other: number) => boolean | null;
  /** Pages that KSM has merged; left out: this machine's. */
  readonly merged?: () => number;
  /** Left out: the job scans by itself. */
  readonly machine?: MachineScan;
}

const COUNTS = object({
  /** Distinct processes seen so far. */
  seen: integer(0),
  /** Those of them that only one way of claiming found. */
  treeOnly: integer(0),
  groupOnly: integer(0),
});
export type ClaimCounts = ValueOf<typeof COUNTS>;

/** What a successor process gets. */
export const SAVED_PROCESSES = object({
  tracked: list(SAVED_PROCESS, 2 ** 22),
  counts: COUNTS,
  rootPid: nullable(integer(1)),
});
type SavedProcesses = ValueOf<typeof SAVED_PROCESSES>;

/** With up to this many threads, children of every thread are looked for at every tick; else only at scans of /proc. */
const MOST_THREADS_WALKED = 16;

/** A forked process whose program is not its parent's is compared with at most this many processes of that program. */
const MOST_COMPARED = 100;

/** How a process was found: below another one, by the additional group, in the control group, or by the kernel's events. */
type Way = 'tree' | 'group' | 'cgroup' | 'events';

/** The processes of one job, from tick to tick. */
export class JobProcesses {
  /** First of the job's tree: Grid Engine's `job_pid`, or the process given to `run`. null: not started yet. */
  rootPid: number | null;
  /** The kernel's events are heard: they decide what became of a forked image that has gone. */
  hearsEvents = false;
  /** Its living processes are the job's, even those that left the tree; null: the events are not complete. */
  lineage: Pick<Lineage, 'living'> | null = null;
  /** Directory of a control group that holds processes of this job only; null: none. */
  ownCgroup: string | null = null;
  /** By pid. */
  readonly tracked = new Map<number, JobProcess>();
  /** Pids left out of this tick: they run as another user, and only their group says that they may be the job's. */
  strangers: number[] = [];
  readonly counts: { -readonly [Name in keyof ClaimCounts]: number };
  private readonly childrenListed: boolean;
  private readonly machine: MachineScan;
  /** `tracked`, parents before children; null: to be made anew. */
  private ordered: readonly JobProcess[] | null = null;

  /** `saved` continues what another sampler process had found. */
  constructor(
    readonly rules: ClaimRules,
    private readonly budget: DescriptorBudget,
    saved: SavedProcesses | null = null,
  ) {
    this.childrenListed = listsChildren(rules.procRoot);
    this.machine = rules.machine ?? newMachineScan(rules.procRoot);
    this.rootPid = saved?.rootPid ?? null;
    this.counts = saved === null ? { seen: 0, treeOnly: 0, groupOnly: 0 } : { ...saved.counts };
    for (const process of saved?.tracked ?? [])
      this.tracked.set(process.pid, new JobProcess(process, new ProcessFiles(process.pid, budget, rules.procRoot)));
  }

  /**
   * Finds new processes and reads all. `scanAll`: looks through all of /proc for the group. `rising`: see Tick.finish.
   * `last`: everything is read, even processes that have not run since the last tick.
   */
  tick(
    atMs: number,
    scanAll: boolean,
    rising: (anonymous: number, rssSwap: number) => boolean,
    last = false,
  ): TickReadings {
    const tick = new Tick(this, atMs);
    this.strangers = [];
    // Before the tree is walked: a process that has run since may have forked.
    for (const process of this.inOrder()) process.presumedAsleep = !last && tick.isStillAsleep(process);
    this.claimNew(atMs, scanAll);
    const processes = this.inOrder();
    for (const process of processes) tick.readFirst(process);
    for (const process of processes) tick.readSecond(process);
    return tick.finish(rising);
  }

  /**
   * Whether another reading can still complete the job: some process is being killed or exiting, has ended and its exit
   * event has not come yet, or was made known only by an event and lives on.
   */
  dying(): boolean {
    for (const { files, startTicks } of this.tracked.values()) {
      const stat = files.stat();
      if (stat?.startTicks !== startTicks || isDead(stat)) continue;
      if (stat.exiting || (files.status(isBeingKilled) ?? false)) return true;
    }
    for (const pid of this.lineage?.living().keys() ?? [])
      if (!this.tracked.has(pid) || this.hasEnded(pid)) return true;
    return false;
  }

  /** Ids of forked images that look like workers by now, though they may yet execute a program. */
  workers(): readonly string[] {
    const workers: string[] = [];
    for (const process of this.tracked.values())
      if (process.pending && !process.shared && process.isWorker()) workers.push(process.imageId);
    return workers;
  }

  /** Ids of the processes whose I/O is not known. */
  unreadIo(): ReadonlySet<string> {
    const ids = new Set<string>();
    for (const { id, ioUnread } of this.tracked.values()) if (ioUnread) ids.add(id);
    return ids;
  }

  /** Whether a forked image counts whatever becomes of it. (That of the first process is the shepherd's.) */
  countsAnyway(process: JobProcess): boolean {
    return !process.shared && process.pid !== this.rootPid && process.hasOwnMemory();
  }

  /** The process of this id; undefined: not (or no longer) one of the job's. */
  find(id: string): JobProcess | undefined {
    const process = this.tracked.get(Number.parseInt(id, 10));
    return process?.id === id ? process : undefined;
  }

  forget(process: JobProcess): void {
    process.files.close();
    this.tracked.delete(process.pid);
    this.ordered = null;
  }

  /**
   * Whether another process counts the address space of this one: after vfork its parent, after clone(CLONE_VM) any
   * process of the same program. If the other process goes first, this one counts from then on.
   */
  isCountedElsewhere(pid: number, { ppid, image }: Stat): boolean {
    const shares = (other: JobProcess): boolean => this.rules.sharesAddressSpace(pid, other.pid) ?? false;
    const parent = this.tracked.get(ppid);
    if (parent?.shared === false) {
      if (shares(parent)) return true;
      if (parent.imageMark === image) return false;
    }
    let compared = 0;
    for (const other of this.tracked.values()) {
      if (other === parent || other.pid === pid || other.shared || image === 0 || other.imageMark !== image) continue;
      if (shares(other)) return true;
      if (++compared === MOST_COMPARED) return false;
    }
    return false;
  }

  countersOf(process: JobProcess, stat: Stat): Counters {
    const io = process.files.io();
    if (io !== null) process.ioUnread = false;
    // Without root nobody may read it once the memory has gone: then what was read before stands.
    else if (!isDead(stat) && !stat.exiting) process.ioUnread = process.files.stat()?.startTicks === process.startTicks;
    const known = io ?? process.counters;
    return {
      parent: this.tracked.get(stat.ppid)?.id ?? null,
      cpu: stat.cpuTicks + stat.childCpuTicks,
      childCpu: stat.childCpuTicks,
      faults: stat.minorFaults + stat.childMinorFaults,
      childFaults: stat.childMinorFaults,
      readChars: known?.readChars ?? 0,
      writtenChars: known?.writtenChars ?? 0,
      readBytes: known?.readBytes ?? 0,
      writtenBytes: known?.writtenBytes ?? 0,
    };
  }

  save(): SavedProcesses {
    return {
      tracked: [...this.tracked.values()].map((process) => process.save()),
      counts: { ...this.counts },
      rootPid: this.rootPid,
    };
  }

  close(): void {
    for (const { files } of this.tracked.values()) files.close();
    this.tracked.clear();
  }

  /** Parents before children: figures that pass to the parent when a child ends meanwhile are not counted twice. */
  private inOrder(): readonly JobProcess[] {
    this.ordered ??= [...this.tracked.values()].sort((a, b) => a.startTicks - b.startTicks);
    return this.ordered;
  }

  private hasEnded(pid: number): boolean {
    const files = this.tracked.get(pid)?.files ?? new ProcessFiles(pid, { left: 0 }, this.rules.procRoot);
    const stat = files.stat();
    return stat === null || (isDead(stat) && stat.threads <= 1);
  }

  private claimNew(atMs: number, scanAll: boolean): void {
    if (this.rootPid !== null) this.claim(this.rootPid, 'tree', atMs);
    if (this.ownCgroup !== null) for (const pid of processesIn(this.ownCgroup)) this.claim(pid, 'cgroup', atMs);
    if (this.childrenListed) this.walkTree(atMs, scanAll);
    for (const pid of this.lineage?.living().keys() ?? []) this.claim(pid, 'events', atMs);
    // The group comes last: it claims only what nothing else has found.
    if (scanAll || !this.childrenListed) this.scanMachine(atMs);
  }

  private walkTree(atMs: number, everyThread: boolean): void {
    const queue = [...this.tracked.values()];
    // The queue grows while it is walked.
    for (const process of queue) {
      // It has not run, so it has forked nothing.
      if (!everyThread && process.presumedAsleep) continue;
      const { threads } = process;
      const all = threads > 1 && (everyThread || threads <= MOST_THREADS_WALKED);
      for (const pid of process.files.children(all)) {
        const added = this.claim(pid, 'tree', atMs);
        if (added !== null) queue.push(added);
      }
    }
  }

  /**
   * Looks at every process of the machine: its parent and its groups. Costs a listing of /proc, so it is done at every
   * tick only where the kernel doesn't list children.
   */
  private scanMachine(atMs: number): void {
    const { group } = this.rules;
    const others = this.claimBelow([...this.machine.processes(atMs)], atMs);
    if (group === null) return;
    for (const { pid, groups } of others) if (groups.includes(group)) this.claim(pid, 'group', atMs);
    this.claimBelow(others, atMs);
  }

  /** Claims the descendants of the job's processes. Returns the others. */
  private claimBelow(seen: readonly SeenProcess[], atMs: number): readonly SeenProcess[] {
    let others = seen;
    // A child may have a lower pid than its parent, and so come first.
    for (let claimed = true; claimed;) {
      const rest = others.filter(({ pid, parent }) => {
        if (!this.tracked.has(parent)) return true;
        this.claim(pid, 'tree', atMs, parent);
        return false;
      });
      claimed = rest.length < others.length;
      others = rest;
    }
    return others;
  }

  /** Adds a process, if it is the job's and not known yet. `parent`: its parent when the machine was scanned. */
  private claim(pid: number, way: Way, atMs: number, parent: number | null = null): JobProcess | null {
    const { rules, tracked } = this;
    if (tracked.has(pid)) return null;
    const files = new ProcessFiles(pid, this.budget, rules.procRoot);
    const stat = files.stat();
    if (stat === null || stat.startTicks < rules.notBefore || stat.state === 'X') {
      files.close();
      return null;
    }
    const byGroup = carriesGroup(files, rules.group);
    // The scan may be a while old: the pid may be another process's by now.
    const below = way === 'tree' && (parent === null || stat.ppid === parent);
    const heard = way === 'events' && this.wasHeard(pid, stat);
    const byTree = way === 'cgroup' || below || heard || (byGroup && stat.ppid === rules.shepherdPid);
    if (!byTree && !(byGroup && this.runsAsOwner(files))) {
      files.close();
      return null;
    }
    const parentProcess = tracked.get(stat.ppid);
    const process = new JobProcess(
      {
        pid,
        startTicks: stat.startTicks,
        parent: parentProcess?.id ?? null,
        byTree,
        byGroup,
        image: 0,
        imageMark: stat.image,
        pending: stat.forkedNoExec,
        shared: stat.forkedNoExec && this.isCountedElsewhere(pid, stat),
        command: commandName(stat.comm, files.executable()),
        firstSeenMs: atMs,
        lastSeenMs: atMs,
        worked: false,
        grown: false,
        threads: stat.threads,
        rssMark: 0,
      },
      files,
    );
    tracked.set(pid, process);
    this.ordered = null;
    this.counts.seen++;
    if (rules.group !== null && byTree && !byGroup) this.counts.treeOnly++;
    if (!byTree) this.counts.groupOnly++;
    return process;
  }

  /** Whether it is the process that the events know: one that re-used its pid after a missed exit started later. */
  private wasHeard(pid: number, { startTicks }: Stat): boolean {
    const forkedAt = this.lineage?.living().get(pid)?.forkedAt ?? null;
    return forkedAt !== null && startTicks <= ticksAt(forkedAt);
  }

  /** Group ids are re-used: leftovers of another user's job may carry this job's group, and fork after it began. */
  private runsAsOwner(files: ProcessFiles): boolean {
    const uid = files.status(realUid);
    if (uid !== null && uid === this.rules.uid()) return true;
    this.strangers.push(files.pid);
    return false;
  }
}
