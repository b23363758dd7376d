import { allPids, listsChildren, openProcess } from '../../sources/proc/process-files';

/** Of the whole machine, for kernels that don't list children. */
function childrenByParent(procRoot: string): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  for (const pid of allPids(procRoot)) {
    const parent = openProcess(pid, { left: 0 }, procRoot).stat()?.ppid;
    if (parent === undefined) continue;
    const known = children.get(parent);
    if (known === undefined) children.set(parent, [pid]);
    else known.push(pid);
  }
  return children;
}

/** Processes below `ancestor` as they are now. */
export function existingDescendants(ancestor: number, procRoot = '/proc'): ReadonlySet<number> {
  const listed = listsChildren(procRoot) ? null : childrenByParent(procRoot);
  const found = new Set<number>([ancestor]);
  const childrenOf = (pid: number): readonly number[] =>
    listed === null ? openProcess(pid, { left: 0 }, procRoot).children(true) : (listed.get(pid) ?? []);
  // Grows while it is gone through.
  for (const pid of found) for (const child of childrenOf(pid)) found.add(child);
  found.delete(ancestor);
  return found;
}
