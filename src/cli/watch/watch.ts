import type { ClusterView } from '../../live/cluster-view';
import type { Screen } from '../../report/screen/screen';
import { renderWatch } from '../../report/live/watch-screen';
import { rememberingSelect } from '../../report/live/watch-selection';
import { stepWatch, type Extent, type WatchState } from '../../report/live/watch-state';
import { drawFrame, SCREEN_CODES, type Drawn } from './frame';
import type { WatchTty } from './tty';

export interface WatchJob {
  readonly start: WatchState;
  /**
   * The cluster as it is now; `pending`: with waiting jobs; `stopped`: aborted when the answer is no longer wanted. A
   * rejection ends the watching.
   */
  readonly fetch: (pending: boolean, stopped: AbortSignal) => Promise<ClusterView>;
  /** ms from one answer to the next fetch. */
  readonly interval: number;
  readonly screen: (columns: number) => Screen;
  readonly tty: WatchTty;
}

/** Redraw interval (ms), as ages on the screen are shown in seconds. */
const TICK = 1000;

const RESUME_MS = 100;

/** How the watching ended: the last view shown (null: none), and the signal that ended it (null: the user quit). */
export interface Watched {
  readonly view: ClusterView | null;
  readonly signal: NodeJS.Signals | null;
}

class Watching {
  readonly ended: Promise<Watched>;
  private readonly select = rememberingSelect();
  private readonly stop = new AbortController();
  private state: WatchState;
  private view: ClusterView | null = null;
  private extent: Extent = { lines: 0, room: 1 };
  private drawn: Drawn | null = null;
  private asking = false;
  private suspended = false;
  private closed = false;
  /** When to ask next, by the monotonic clock (ms). */
  private nextAt = 0;
  private stopListening = (): void => undefined;
  private ticking: NodeJS.Timeout | undefined;
  private resuming: NodeJS.Timeout | undefined;
  private end: (watched: Watched) => void = () => undefined;
  private fail: (error: unknown) => void = () => undefined;

  constructor(private readonly job: WatchJob) {
    this.state = job.start;
    this.ended = new Promise((resolve, reject) => {
      this.end = resolve;
      this.fail = (error) => reject(error instanceof Error ? error : new Error(String(error)));
    });
  }

  begin(): void {
    this.listen();
    this.redraw();
    this.ask();
    this.ticking = setInterval(() => this.guard(() => this.tick()), Math.min(TICK, this.job.interval));
  }

  close(): void {
    this.closed = true;
    clearInterval(this.ticking);
    clearTimeout(this.resuming);
    this.stop.abort();
  }

  /** Restores the terminal. */
  restore(): void {
    this.stopListening();
    this.stopListening = () => undefined;
    this.job.tty.write(SCREEN_CODES.leave);
  }

  /** Runs a callback; if it throws, the watching fails with that error. */
  private guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.fail(error);
    }
  }

  private draw(): void {
    if (this.suspended || this.closed) return;
    const { tty, screen } = this.job;
    const { columns, rows } = tty.size();
    const selection = this.view === null ? null : this.select(this.state, this.view);
    const frame = renderWatch(this.state, this.view, selection, screen(columns), rows);
    this.extent = frame.extent;
    const { text, drawn } = drawFrame(this.drawn, frame.lines, columns, rows);
    this.drawn = drawn;
    if (text !== '') tty.write(text);
  }

  private ask(): void {
    if (this.asking) return;
    this.asking = true;
    const waiting = this.state.page === 'pending';
    this.job
      .fetch(waiting, this.stop.signal)
      .then((answer) => {
        this.asking = false;
        // The user has turned to the waiting jobs meanwhile: ask again at once.
        const incomplete = !waiting && this.state.page === 'pending' && answer.pending === null;
        this.nextAt = incomplete ? 0 : performance.now() + this.job.interval;
        if (!this.state.paused || this.view === null) this.view = answer;
        this.draw();
      })
      .catch(this.fail);
  }

  private tick(): void {
    if (!this.state.paused && performance.now() >= this.nextAt) this.ask();
    this.draw();
  }

  private typed(key: string): void {
    if (key === 'ctrl-l') this.drawn = null;
    else if (key === 'ctrl-z') {
      this.suspend();
      return;
    }
    const before = this.state;
    this.state = stepWatch(before, key, this.extent);
    if (this.state.quit) {
      this.end({ view: this.view, signal: null });
      return;
    }
    // Waiting jobs are not known yet: ask at once.
    if (this.state.page === 'pending' && before.page !== 'pending' && this.view?.pending === null) this.ask();
    this.draw();
  }

  private suspend(): void {
    this.restore();
    this.suspended = true;
    process.kill(process.pid, 'SIGTSTP');
    // The timer fires after SIGCONT; if the stop had no effect (no shell with job control), it lets us go on.
    this.resuming = setTimeout(() => this.guard(() => this.resume()), RESUME_MS);
  }

  private resume(): void {
    this.suspended = false;
    this.listen();
    this.redraw();
  }

  private redraw(): void {
    this.job.tty.write(SCREEN_CODES.enter);
    this.drawn = null;
    this.draw();
  }

  private listen(): void {
    this.stopListening = this.job.tty.listen({
      key: (key) => this.guard(() => this.typed(key)),
      resize: () => {
        this.drawn = null;
        this.guard(() => this.draw());
      },
      resumed: () => this.guard(() => this.redraw()),
      end: (signal) => this.end({ view: this.view, signal }),
    });
  }
}

/**
 * Shows the cluster until the user quits or a signal comes, then restores the terminal, however it ends. Rejects as
 * `fetch` does.
 */
export async function watch(job: WatchJob): Promise<Watched> {
  const watching = new Watching(job);
  const restore = (): void => watching.restore();
  // Restores the terminal at an unexpected exit, too.
  process.once('exit', restore);
  try {
    watching.begin();
    return await watching.ended;
  } finally {
    watching.close();
    process.off('exit', restore);
    restore();
  }
}
