import { closeSync, ftruncateSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../base/monotonic';
import { lockFile } from '../../native/libc';

const LOOK_MS = 500;

/** The right to deliver from a node, which one process has at a time; the file holds its last attempt's problem. */
export class DeliveryLock {
  private constructor(
    private readonly directory: string,
    private readonly file: number,
  ) {}

  /** null: another process has it. Throws where the file can't be made. */
  static take(stateDirectory: string): DeliveryLock | null {
    const file = lockFile(join(stateDirectory, 'deliver.lock'));
    return file === null ? null : new DeliveryLock(stateDirectory, file);
  }

  /** Notes the problem of the last attempt, for processes that ask; null: none. */
  noteProblem(problem: string | null): void {
    ftruncateSync(this.file);
    if (problem !== null) writeSync(this.file, problem);
  }

  /** Waits, but only until somebody asks for the next attempt. */
  async pause(ms: number): Promise<void> {
    const wanted = (): number => statSync(wakePath(this.directory), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    const before = wanted();
    for (const until = monotonicMs() + ms; monotonicMs() < until && wanted() === before;)
      await sleep(Math.min(LOOK_MS, Math.max(0, until - monotonicMs())));
  }

  release(): void {
    closeSync(this.file);
  }
}

const wakePath = (stateDirectory: string): string => join(stateDirectory, 'deliver.wake');

/** Makes the process that delivers try again now. Returns the problem of its last attempt; null: none so far. */
export function wakeDelivery(stateDirectory: string): string | null {
  writeFileSync(wakePath(stateDirectory), `${process.pid}\n`, { mode: 0o600 });
  return readFileSync(join(stateDirectory, 'deliver.lock'), 'utf8').slice(0, 2000) || null;
}
