import { constants } from 'node:os';

const NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));
// Linux has old names for some numbers; these are the ones people know.
NAMES.set(6, 'SIGABRT').set(29, 'SIGIO').set(17, 'SIGCHLD').set(31, 'SIGSYS');

/** "SIGKILL"; "signal 64" where the number has no name. */
export function signalName(signal: number): string {
  return NAMES.get(signal) ?? `signal ${signal}`;
}
