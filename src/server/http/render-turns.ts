import { FairQueue } from '../accounting/fair-queue';
import type { Requester } from '../accounting/accounting-thread';
import { HttpProblem } from './http-problem';

/** ms at most between two answers: enough for other requests to be read and their users' names to be found. */
const LONGEST_PAUSE_MS = 20;

/**
 * Turns for answers that the main thread makes itself, of which large ones take seconds: one at a time, requesters in
 * turn, with a pause after each for the server's other work.
 */
export class RenderTurns {
  private readonly queue = new FairQueue<() => Promise<unknown>>();
  private isBusy = false;

  /**
   * Calls `make` when it is the requester's turn, and resolves to its result. Rejects with what `make` throws, or with
   * HttpProblem if the client leaves before.
   */
  take<T>({ key, gone }: Requester, make: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.queue.remove(key, turn);
        reject(new HttpProblem(503, 'the client has left'));
      };
      const turn = (): Promise<unknown> => {
        gone?.removeEventListener('abort', leave);
        // Rejects with what `make` throws.
        const made = new Promise<T>((done) => done(make()));
        resolve(made);
        return made.catch(() => undefined);
      };
      if (gone?.aborted === true) {
        leave();
        return;
      }
      gone?.addEventListener('abort', leave);
      this.queue.add(key, turn);
      if (this.isBusy) return;
      this.isBusy = true;
      setImmediate(() => void this.next());
    });
  }

  private async next(): Promise<void> {
    const turn = this.queue.take();
    this.isBusy = turn !== undefined;
    if (turn === undefined) return;
    const began = performance.now();
    await turn();
    const pauseMs = Math.min(performance.now() - began, LONGEST_PAUSE_MS);
    if (pauseMs < 1) setImmediate(() => void this.next());
    else setTimeout(() => void this.next(), pauseMs);
  }
}
