/**
 * The process groups of commands that we have started and whose end we have not seen. A group of its own does not hear
 * the terminal's Ctrl-C, so a signal that ends us would leave a command behind that waits for qmaster.
 */
const groups = new Set<number>();
let expected = 0;

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

/**
 * If there is another handler, it decides what the signal means; if not, the signal ends us as if we had not listened.
 */
function onDeadly(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  killAll();
  process.removeListener(signal, onDeadly);
  process.kill(process.pid, signal);
}

/**
 * To be called before a group is started: from then on a deadly signal is handled only when `keepGroup` has made the
 * group known. Otherwise a signal between the start and that moment would end only us.
 */
export function expectGroup(): void {
  if (expected++ > 0) return;
  process.on('exit', killAll);
  for (const signal of DEADLY) process.on(signal, onDeadly);
}

/** The expected group has been started: it is ended when this process is. */
export function keepGroup(group: number): void {
  groups.add(group);
}

/** The group's leader has ended; null: none was started. */
export function forgetGroup(group: number | null): void {
  if (group !== null) groups.delete(group);
  if (--expected > 0) return;
  process.removeListener('exit', killAll);
  for (const signal of DEADLY) process.removeListener(signal, onDeadly);
}
