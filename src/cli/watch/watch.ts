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
   * The cluster as it is now; `pending`: with the jobs that wait; `stopped`: nobody waits for it any more. A rejection
   * ends the watching.
   */
  readonly fetch: (pending: boolean, stopped: AbortSignal) => Promise<ClusterView>;
  /** ms from one answer to the next question. */
  readonly interval: number;
  readonly screen: (columns: number) => Screen;
  readonly tty: WatchTty;
}

/** Ages on the screen are of seconds. */
const TICK = 1000;

const RESUME_MS = 100;

/** How a watching ended: the last view that was seen (null: none), and the signal that ended it. */
export interface Watched {
  readonly view: ClusterView | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Shows the cluster until somebody quits or a signal comes. However it ends, the terminal is as it was before. Rejects
 * with what `fetch` rejected with.
 */
export async function watch({ start, fetch, interval, screen, tty }: WatchJob): Promise<Watched> {
  const select = rememberingSelect();
  const stop = new AbortController();
  let state = start;
  let view: ClusterView | null = null;
  let extent: Extent = { lines: 0, room: 1 };
  let drawn: Drawn | null = null;
  let asking = false;
  let suspended = false;
  let nextAt = 0;

  const draw = (): void => {
    if (suspended) return;
    const { columns, rows } = tty.size();
    const selection = view === null ? null : select(state, view);
    const frame = renderWatch(state, view, selection, screen(columns), rows);
    ({ extent } = frame);
    const { text, drawn: now } = drawFrame(drawn, frame.lines, columns, rows);
    drawn = now;
    if (text !== '') tty.write(text);
  };

  let stopListening = (): void => undefined;
  let ticking: NodeJS.Timeout | undefined;
  let resuming: NodeJS.Timeout | undefined;
  const restore = (): void => {
    stopListening();
    stopListening = () => undefined;
    tty.write(SCREEN_CODES.leave);
  };
  // An end that nobody foresaw leaves the terminal usable, too.
  process.once('exit', restore);
  try {
    return await new Promise<Watched>((resolve, reject) => {
      // What goes wrong in a callback is the watching's own failure.
      const guarded = (act: () => void) => (): void => {
        try {
          act();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      const ask = (): void => {
        if (asking) return;
        asking = true;
        const waiting = state.page === 'pending';
        fetch(waiting, stop.signal).then((answer) => {
          asking = false;
          // Somebody has turned to the jobs that wait meanwhile.
          const incomplete = !waiting && state.page === 'pending' && answer.pending === null;
          nextAt = incomplete ? 0 : Date.now() + interval;
          if (!state.paused || view === null) view = answer;
          guarded(draw)();
        }, reject);
      };
      const tick = (): void => {
        if (!state.paused && Date.now() >= nextAt) ask();
        draw();
      };
      const typed = (key: string): void => {
        if (key === 'ctrl-l') drawn = null;
        else if (key === 'ctrl-z') {
          suspend();
          return;
        }
        const before = state;
        state = stepWatch(state, key, extent);
        if (state.quit) {
          resolve({ view, signal: null });
          return;
        }
        // What can't be shown yet is asked for at once.
        if (state.page === 'pending' && before.page !== 'pending' && view?.pending === null) ask();
        draw();
      };
      const suspend = (): void => {
        stopListening();
        tty.write(SCREEN_CODES.leave);
        suspended = true;
        process.kill(process.pid, 'SIGTSTP');
        // Stopped, no time passes; without a shell that could bring us back the signal does nothing, and we go on.
        resuming = setTimeout(guarded(resume), RESUME_MS);
      };
      const resume = (): void => {
        suspended = false;
        listen();
        redraw();
      };
      const redraw = (): void => {
        tty.write(SCREEN_CODES.enter);
        drawn = null;
        draw();
      };
      const listen = (): void => {
        stopListening = tty.listen({
          key: (key) => guarded(() => typed(key))(),
          resize: guarded(() => {
            drawn = null;
            draw();
          }),
          resumed: guarded(redraw),
          end: (signal) => resolve({ view, signal }),
        });
      };
      listen();
      redraw();
      ask();
      ticking = setInterval(guarded(tick), Math.min(TICK, interval));
    });
  } finally {
    clearInterval(ticking);
    clearTimeout(resuming);
    stop.abort();
    process.off('exit', restore);
    restore();
  }
}
