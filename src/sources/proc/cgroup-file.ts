/** A cgroup hierarchy that a process is in: `/proc/PID/cgroup` has `id:controllers:path`. */
export interface CgroupMembership {
  /** Directory under the cgroup root: "" for v2, "cpuset", "systemd" ... for v1. */
  readonly hierarchy: string;
  readonly path: string;
}

export function parseCgroupFile(text: string): readonly CgroupMembership[] {
  const memberships: CgroupMembership[] = [];
  for (const line of text.split('\n')) {
    const match = /^\d+:([^:]*):(\/.*)$/.exec(line);
    if (!match) continue;
    const controllers = match[1] as string;
    memberships.push({ hierarchy: controllers.replace(/^name=/, ''), path: match[2] as string });
  }
  return memberships;
}
