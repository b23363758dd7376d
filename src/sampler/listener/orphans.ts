import { readBytes } from '../../sources/files';
import { parentPid, realUid, supplementaryGroups } from '../../sources/proc/status';

/** What a process inherits from the process that made it. */
export interface Origin {
  readonly parent: number;
  /** Its user and its groups, the job's own group among them. */
  readonly groups: string;
}

/** null: it has gone. */
export function originOf(pid: number): Origin | null {
  const status = readBytes(`/proc/${pid}/status`);
  if (status === null) return null;
  const { length } = status;
  const groups = [realUid(status, length), ...supplementaryGroups(status, length)].join(' ');
  return { parent: parentPid(status, length), groups };
}

/**
 * Processes of jobs whose parent has ended, by their new parent. That is mostly pid 1, which nobody follows: if an
 * orphan makes a process with clone(CLONE_PARENT), the kernel reports it as a child of the orphan's parent.
 */
export class Orphans {
  /** Living processes of jobs, by their parent. */
  private readonly children = new Map<number, Set<number>>();
  private readonly parents = new Map<number, number>();
  /** User and groups of the orphans. */
  private readonly groups = new Map<number, string>();

  constructor(private readonly look: (pid: number) => Origin | null = originOf) {}

  /** A process of a job was forked by another one. */
  forked(parent: number, child: number): void {
    if (!this.parents.has(child)) this.put(parent, child);
  }

  /** Any process has ended. */
  ended(pid: number): void {
    this.forget(pid);
    const left = this.children.get(pid) ?? [];
    this.children.delete(pid);
    for (const child of left) {
      this.parents.delete(child);
      const origin = this.look(child);
      if (origin === null) continue;
      this.put(origin.parent, child);
      this.groups.set(child, origin.groups);
    }
  }

  /**
   * Orphans that may have made a child of a parent that nobody follows: those with the same parent and the child's
   * groups, or all with that parent if the child has gone. Each is named once: after that its job's upper bounds stay
   * open.
   */
  makersOf(parent: number, child: number): readonly number[] {
    const orphans = this.children.get(parent);
    if (orphans === undefined) return [];
    const made = this.look(child);
    const makers = [...orphans].filter((pid) => made === null || this.groups.get(pid) === made.groups);
    for (const pid of makers) this.forget(pid);
    return makers;
  }

  private forget(pid: number): void {
    const parent = this.parents.get(pid);
    if (parent === undefined) return;
    this.parents.delete(pid);
    this.groups.delete(pid);
    const siblings = this.children.get(parent);
    siblings?.delete(pid);
    if (siblings?.size === 0) this.children.delete(parent);
  }

  private put(parent: number, child: number): void {
    this.parents.set(child, parent);
    const known = this.children.get(parent);
    if (known === undefined) this.children.set(parent, new Set([child]));
    else known.add(child);
  }
}
