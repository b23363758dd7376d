import { EXIT_FIELDS, type ExitAccount } from '../../../src/sampler/listener/exit-account';
import type { ProcessEvent } from '../../../src/sampler/listener/process-table';

export const fork = (at: number, parent: number, child: number): ProcessEvent => ({
  kind: 'fork',
  at,
  parent,
  child,
  thread: parent,
});
export const exec = (at: number, pid: number): ProcessEvent => ({ kind: 'exec', at, pid });
export const exit = (at: number, pid: number, account: ExitAccount | null = null): ProcessEvent => ({
  kind: 'exit',
  at,
  pid,
  account,
  oomKill: null,
});

/** An exit account in which all other figures are 0. */
export function exitAccount(changes: Partial<ExitAccount> = {}): ExitAccount {
  const figures = Object.fromEntries(EXIT_FIELDS.map((field) => [field, 0])) as Record<
    (typeof EXIT_FIELDS)[number],
    number
  >;
  return { ...figures, threads: 1, threadExits: 1, uid: 1000, command: 'worker', final: true, whole: true, ...changes };
}
