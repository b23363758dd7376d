import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SCREEN_CODES } from '../../../src/cli/watch/frame';
import { watch, type WatchJob, type Watched } from '../../../src/cli/watch/watch';
import type { WatchEvents, WatchTty } from '../../../src/cli/watch/tty';
import type { ClusterView } from '../../../src/live/cluster-view';
import { NO_FILTER } from '../../../src/report/live/filter';
import { startWatching } from '../../../src/report/live/watch-state';
import { liveScreen, sampleView } from '../../report/live/sample-view';
import { until } from '../../support/until';

interface FakeTty extends WatchTty {
  readonly writes: string[];
  readonly events: () => WatchEvents;
  readonly listening: () => boolean;
  readonly resize: (columns: number, rows: number) => void;
}

function fakeTty(): FakeTty {
  const writes: string[] = [];
  let size = { columns: 100, rows: 20 };
  let events: WatchEvents | null = null;
  const heard = (): WatchEvents => {
    assert.ok(events !== null);
    return events;
  };
  return {
    writes,
    events: heard,
    listening: () => events !== null,
    size: () => size,
    resize: (columns, rows) => {
      size = { columns, rows };
      heard().resize();
    },
    write: (text) => void writes.push(text),
    listen: (listener) => {
      events = listener;
      return () => {
        events = null;
      };
    },
  };
}

/** So long that Grid Engine is not asked a second time. */
const ONCE = { interval: 3_600_000 };

const start = startWatching('jobs', { filter: NO_FILTER, sorting: null, details: false });

function watching(
  tty: FakeTty,
  changes: Partial<WatchJob> = {},
): { readonly ended: Promise<Watched>; readonly asked: boolean[] } {
  const asked: boolean[] = [];
  const fetch = (pending: boolean): Promise<ClusterView> => {
    asked.push(pending);
    return Promise.resolve(sampleView(pending ? {} : { pending: null }));
  };
  const screen = (columns: number): ReturnType<typeof liveScreen> => liveScreen({ width: columns });
  return { ended: watch({ start, fetch, interval: 50, screen, tty, ...changes }), asked };
}

const restored = (tty: FakeTty): void => {
  assert.equal(tty.writes.at(-1), SCREEN_CODES.leave);
  assert.equal(tty.listening(), false);
};

describe('watch', () => {
  it('draws whole frames in the alternate screen, and leaves it at the end', async () => {
    const tty = fakeTty();
    const { ended, asked } = watching(tty);
    await until(() => tty.writes.length > 2);
    assert.equal(tty.writes[0], SCREEN_CODES.enter);
    assert.match(tty.writes[1] ?? '', /Asking Grid Engine/);
    assert.match(tty.writes[2] ?? '', /12 running.*serial/s);
    tty.events().key('q');
    const { view, signal } = await ended;
    assert.deepEqual([view?.jobs.length, signal, asked[0]], [12, null, false]);
    restored(tty);
  });

  it('redraws on keys and on a change of size', async () => {
    const tty = fakeTty();
    const { ended } = watching(tty, ONCE);
    await until(() => tty.writes.length > 2);
    tty.events().key('r');
    assert.match(tty.writes.at(-1) ?? '', /reversed/);
    tty.resize(60, 6);
    assert.ok(tty.writes.at(-1)?.startsWith('\u001b[2J'));
    assert.ok(!tty.writes.at(-1)?.includes('\u001b[7;1H'));
    tty.resize(7, 1);
    tty.resize(1000, 300);
    tty.events().key('ctrl-l');
    assert.ok(tty.writes.at(-1)?.startsWith('\u001b[2J'));
    tty.events().key('q');
    await ended;
    restored(tty);
  });

  it('asks again and again, but not while paused, and for waiting jobs only when they are shown', async () => {
    const tty = fakeTty();
    const { ended, asked } = watching(tty);
    await until(() => asked.length > 2);
    tty.events().key('p');
    await sleep(20);
    const before = asked.length;
    await sleep(150);
    assert.equal(asked.length, before);
    tty.events().key('p');
    tty.events().key('tab');
    await until(() => asked.at(-1) === true && tty.writes.join('').includes('2 waiting'));
    tty.events().key('q');
    await ended;
  });

  it('goes on asking when the clock is set back', async (t) => {
    const tty = fakeTty();
    const { ended, asked } = watching(tty);
    await until(() => asked.length > 1);
    const { now } = Date;
    t.mock.method(Date, 'now', () => now() - 3_600_000);
    const before = asked.length;
    await until(() => asked.length > before + 1);
    tty.events().key('q');
    await ended;
  });

  it('draws no answer that comes after its end', async () => {
    const tty = fakeTty();
    let answer: (view: ClusterView) => void = () => undefined;
    const late = new Promise<ClusterView>((resolve) => (answer = resolve));
    const { ended } = watching(tty, { ...ONCE, fetch: () => late });
    tty.events().key('q');
    await ended;
    answer(sampleView());
    await late;
    await sleep(1);
    restored(tty);
  });

  it('ends on a signal and returns its name', async () => {
    const tty = fakeTty();
    const { ended } = watching(tty);
    tty.events().end('SIGTERM');
    assert.equal((await ended).signal, 'SIGTERM');
    restored(tty);
  });

  it('restores the terminal when something fails', async () => {
    const tty = fakeTty();
    const { ended } = watching(tty, { fetch: () => Promise.reject(new Error('nothing to see')) });
    await assert.rejects(ended, /nothing to see/);
    restored(tty);
    const other = fakeTty();
    let drawn = 0;
    const failing = watching(other, {
      ...ONCE,
      screen: () => {
        drawn += 1;
        if (drawn > 2) throw new Error('can not draw');
        return liveScreen();
      },
    });
    const failed = assert.rejects(failing.ended, /can not draw/);
    await until(() => drawn > 1);
    // On a busy machine, the redraw of a tick may have failed already.
    if (other.listening()) other.events().key('r');
    await failed;
    restored(other);
  });

  it('aborts an unanswered question when it ends', async () => {
    const tty = fakeTty();
    let stopped: AbortSignal | null = null;
    const { ended } = watching(tty, {
      fetch: (_pending, signal) => {
        stopped = signal;
        return new Promise(() => undefined);
      },
    });
    tty.events().key('q');
    const { view } = await ended;
    assert.deepEqual([view, (stopped as AbortSignal | null)?.aborted], [null, true]);
  });
});
