import { constants } from 'node:os';

/** Several names can share a number (SIGABRT and SIGIOT): the first one in the list is the common one. */
const names: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals)
    .reverse()
    .filter(([name]) => !['SIGIOT', 'SIGPOLL', 'SIGUNUSED'].includes(name))
    .map(([name, number]) => [number, name]),
);

/** `SIGKILL` for 9; `SIGRTMIN+1` for 35; null if there is no such signal. */
export function signalName(number: number): string | null {
  const name = names.get(number);
  if (name !== undefined) return name;
  // glibc keeps 32 and 33 for itself, so SIGRTMIN is 34.
  if (!Number.isInteger(number) || number < 34 || number > 64) return null;
  return number === 34 ? 'SIGRTMIN' : `SIGRTMIN+${number - 34}`;
}

/**
 * The signal behind an exit status above 128, as shells and Grid Engine write it: 137 is SIGKILL. Null if there is
 * none.
 */
export function signalOfExitStatus(exitStatus: number): string | null {
  return exitStatus > 128 && exitStatus <= 192 ? signalName(exitStatus - 128) : null;
}
