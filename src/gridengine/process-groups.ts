/**
 * The process groups of commands that we have started and not seen the end of. A group of its own does not hear the
 * terminal's Ctrl-C, so whoever ends us would leave a command behind that waits for qmaster.
 */
const groups = new Set<number>();

const DEADLY = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Ends a process group at once; one that is gone is fine. */
export function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

function killAll(): void {
  for (const group of groups) killGroup(group);
}

/** Who handles the signal otherwise decides what it means; where nobody does, it ends us as if we had not listened. */
function onDeadly(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  killAll();
  process.removeListener(signal, onDeadly);
  process.kill(process.pid, signal);
}

/** From now on the group is ended when this process is. */
export function keepGroup(group: number): void {
  if (groups.size === 0) {
    process.on('exit', killAll);
    for (const signal of DEADLY) process.on(signal, onDeadly);
  }
  groups.add(group);
}

/** The group's leader has ended. */
export function forgetGroup(group: number): void {
  if (!groups.delete(group) || groups.size > 0) return;
  process.removeListener('exit', killAll);
  for (const signal of DEADLY) process.removeListener(signal, onDeadly);
}
