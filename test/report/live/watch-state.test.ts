import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { NO_FILTER } from '../../../src/report/live/filter';
import {
  clampTop,
  SORT_KEYS,
  startWatching,
  stepWatch,
  type Extent,
  type WatchPage,
  type WatchState,
} from '../../../src/report/live/watch-state';

const start = (page: WatchPage = 'jobs'): WatchState =>
  startWatching(page, { filter: NO_FILTER, sorting: null, details: false });
const LONG: Extent = { lines: 100, room: 10 };

function press(state: WatchState, ...keys: readonly string[]): WatchState {
  return keys.reduce((now, key) => stepWatch(now, key, LONG), state);
}

describe('stepWatch', () => {
  it('quits on q and Ctrl-C, in a prompt on Ctrl-C only', () => {
    assert.equal(press(start(), 'q').quit, true);
    assert.equal(press(start(), 'ctrl-c').quit, true);
    assert.equal(press(start(), 'o', 'q').quit, false);
    assert.equal(press(start(), 'o', 'ctrl-c').quit, true);
  });

  it('goes through the sort keys with s and S in a cycle', () => {
    for (const page of ['jobs', 'pending', 'hosts'] as const) {
      const keys = SORT_KEYS[page];
      let state = start(page);
      for (const key of keys) {
        assert.deepEqual(state.sorting[page], { key, reverse: false });
        state = press(state, 's');
      }
      assert.equal(state.sorting[page].key, keys[0]);
      assert.equal(press(state, 'S').sorting[page].key, keys.at(-1));
      assert.equal(press(state, 's', 'S').sorting[page].key, keys[0]);
    }
  });

  it('reverses the order with r, and goes back to the top', () => {
    const state = press(start(), 'down', 'r');
    assert.deepEqual([state.sorting.jobs, state.top], [{ key: 'share', reverse: true }, 0]);
    assert.equal(press(state, 'r').sorting.jobs.reverse, false);
    assert.equal(press(state, 's').sorting.jobs.reverse, false);
  });

  it('filters with o, h, j and /', () => {
    const fields = { o: 'owner', h: 'host', j: 'job', '/': 'any' } as const;
    for (const [key, field] of Object.entries(fields)) {
      const asked = press(start(), key);
      assert.deepEqual(asked.prompt, { field, text: '' });
      const done = press(asked, ...Array.from('bob*,q'), 'enter');
      assert.deepEqual([done.prompt, done.filter[field]], [null, ['bob*', 'q']]);
      assert.equal(press(done, key).prompt?.text, 'bob*,q');
      assert.deepEqual(press(done, key, 'ctrl-u', 'enter').filter, NO_FILTER);
    }
  });

  it('edits a prompt with backspace, and drops it with Escape', () => {
    assert.equal(press(start(), 'o', 'b', '😀', 'backspace', 'x').prompt?.text, 'bx');
    assert.equal(press(start(), 'o', 'backspace').prompt?.text, '');
    const dropped = press(start(), 'o', 'b', 'escape');
    assert.deepEqual([dropped.prompt, dropped.filter], [null, NO_FILTER]);
    assert.equal(press(start(), 'o', 'up', 'pageup', 'tab').prompt?.text, '');
    assert.equal(press(start(), 'o', ...Array.from('x'.repeat(2000))).prompt?.text.length, 1000);
  });

  it('clears filters with c', () => {
    assert.deepEqual(press(start(), 'o', 'b', 'enter', 'c').filter, NO_FILTER);
    const state = start();
    assert.equal(press(state, 'c'), state);
  });

  it('pauses with p and the space bar', () => {
    assert.equal(press(start(), 'p').paused, true);
    assert.equal(press(start(), 'p', ' ').paused, false);
  });

  it('scrolls, but not beyond the ends', () => {
    assert.equal(press(start(), 'down', 'down', 'up').top, 1);
    assert.equal(press(start(), 'up').top, 0);
    assert.equal(press(start(), 'pagedown').top, 9);
    assert.equal(press(start(), 'pagedown', 'pageup').top, 0);
    assert.equal(press(start(), 'end').top, 90);
    assert.equal(press(start(), 'end', 'down', 'pagedown').top, 90);
    assert.equal(press(start(), 'end', 'home').top, 0);
    assert.equal(stepWatch(start(), 'end', { lines: 3, room: 10 }).top, 0);
    assert.equal(clampTop(50, { lines: 20, room: 10 }), 10);
  });

  it('shows the jobs of hosts with u on the page of hosts only', () => {
    assert.equal(press(start('hosts'), 'u').details, true);
    assert.equal(press(start('hosts'), 'u', 'u').details, false);
    assert.equal(press(start(), 'u').details, false);
  });

  it('switches pages with Tab, each with its own order', () => {
    const state = press(start(), 's', 'tab');
    assert.equal(state.page, 'pending');
    assert.equal(press(state, 'tab').page, 'hosts');
    assert.equal(press(state, 'tab', 'tab').page, 'jobs');
    assert.equal(press(state, 'tab', 'tab').sorting.jobs.key, 'risk');
  });

  it('shows the help with ?', () => {
    assert.equal(press(start(), '?').help, true);
    assert.equal(press(start(), '?', '?').help, false);
    assert.equal(press(start(), '?', 'escape').help, false);
  });

  it('ignores any other key', () => {
    const state = start();
    for (const key of ['x', 'Z', '\u0000', 'enter', 'escape', 'toString', '__proto__', 'constructor', 'ctrl-u'])
      assert.equal(press(state, key), state, key);
  });

  it('keeps a valid state after any keys', () => {
    const names = ['up', 'down', 'pageup', 'pagedown', 'home', 'end', 'enter', 'escape', 'backspace', 'tab', 'ctrl-u'];
    const key = fc.oneof(fc.constantFrom(...names), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }));
    const extent = fc.record({ lines: fc.nat({ max: 50 }), room: fc.integer({ min: 1, max: 60 }) });
    fc.assert(
      fc.property(fc.array(fc.tuple(key, extent), { maxLength: 60 }), (presses) => {
        let state = start('hosts');
        for (const [pressed, size] of presses) {
          state = stepWatch(state, pressed, size);
          assert.ok(state.top >= 0);
          assert.ok(SORT_KEYS[state.page].includes(state.sorting[state.page].key));
        }
      }),
    );
  });
});

describe('startWatching', () => {
  it('begins with the given filter, order and details', () => {
    const filter = { ...NO_FILTER, owner: ['bob'] };
    const state = startWatching('hosts', { filter, sorting: { key: 'free', reverse: true }, details: true });
    assert.deepEqual(
      [state.page, state.filter.owner, state.sorting.hosts, state.sorting.jobs.key, state.details],
      ['hosts', ['bob'], { key: 'free', reverse: true }, 'share', true],
    );
  });
});
