import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterView } from '../../../src/live/cluster-view';
import { displayWidth } from '../../../src/report/screen/text-width';
import { NO_FILTER } from '../../../src/report/live/filter';
import { renderWatch, type Frame } from '../../../src/report/live/watch-screen';
import { rememberingSelect, selectPage } from '../../../src/report/live/watch-selection';
import { startWatching, stepWatch, type WatchPage, type WatchState } from '../../../src/report/live/watch-state';
import type { Screen } from '../../../src/report/screen/screen';
import { assertGolden } from '../golden';
import { oneOf } from '../../tries';
import { liveScreen, manyJobs, sampleView } from './sample-view';
import { cpuMs } from '../../support/cpu-time';

process.env.TZ = 'Europe/Berlin';

const view = sampleView();
const start = (page: WatchPage = 'jobs', details = false): WatchState =>
  startWatching(page, { filter: NO_FILTER, sorting: null, details });

function frameOf(
  state: WatchState,
  rows: number,
  of: { readonly view?: ClusterView; readonly screen?: Screen } = {},
): Frame {
  const shown = of.view ?? view;
  return renderWatch(state, shown, selectPage(state, shown), of.screen ?? liveScreen(), rows);
}

/** Presses keys one after the other; each step gets the extent of the frame before it. */
function press(state: WatchState, rows: number, ...keys: readonly string[]): WatchState {
  return keys.reduce((now, key) => stepWatch(now, key, frameOf(now, rows).extent), state);
}

describe('renderWatch', () => {
  it('shows running jobs', () => assertGolden('watch-live', frameOf(start(), 16).lines));
  it('shows hosts with their jobs', () => assertGolden('watch-hosts', frameOf(start('hosts', true), 20).lines));
  it('shows the help', () => assertGolden('watch-help', frameOf(press(start(), 20, '?'), 20).lines));
  it('shows waiting jobs', () => assertGolden('watch-waiting', frameOf(press(start(), 8, 'tab'), 8).lines));

  it('says that nothing is known, and why, where Grid Engine has never answered', () => {
    const problem = `qstat: unable to send message to qmaster; ${'look whether it runs '.repeat(8)}on master01`;
    const times = { ...view.times, list: null, hosts: null };
    const silent = { ...view, jobs: [], hosts: [], problems: [problem], times };
    for (const page of ['jobs', 'hosts'] as const) {
      const { lines } = frameOf(start(page), 12, { view: silent, screen: liveScreen() });
      const text = lines.join(' ');
      assert.match(text, /^qmemacct .*unable to send message.*on master01 +Not known: Grid Engine has not answered\./);
      assert.doesNotMatch(text, /0 running|Nothing here/);
    }
  });

  it('fills a screen of any height exactly', () => {
    for (const page of ['jobs', 'pending', 'hosts'] as const)
      for (let rows = 1; rows < 40; rows++) {
        const { lines } = frameOf(start(page, true), rows);
        assert.equal(lines.length, rows, `${page} ${rows}`);
      }
  });

  it('keeps the keys on the last line', () => {
    for (const rows of [2, 5, 30]) assert.match(frameOf(start(), rows).lines.at(-1) ?? '', /^q quit {2}s sort/);
  });

  it('scrolls the rows below a fixed header, up to the last row', () => {
    const top = frameOf(start(), 8).lines;
    const lower = frameOf(press(start(), 8, 'down'), 8).lines;
    assert.equal(lower[1], top[1]);
    assert.equal(lower[2], top[3]);
    assert.match(lower.at(-1) ?? '', /2-6 of 12$/);
    const end = frameOf(press(start(), 8, 'end', 'down'), 8).lines;
    assert.match(end.at(-1) ?? '', /8-12 of 12$/);
  });

  it('keeps the host line above the jobs of that host in sight', () => {
    const state = press(start('hosts', true), 14, 'down', 'down', 'down');
    const { lines } = frameOf(state, 14);
    assert.match(lines[3] ?? '', /^node01 /);
    assert.match(lines[4] ?? '', /^ {2}master {2}103 /);
  });

  it('shows filter, order and pause in its first line', () => {
    const [head] = frameOf(press(start(), 20, 'o', ...Array.from('bob'), 'enter', 'r', 'p'), 20).lines;
    assert.match(
      head ?? '',
      /^2 of 12 running · by share, reversed · owner bob · PAUSED +default {2}13:00:00, 3 s old$/,
    );
    const { lines } = frameOf(press(start(), 20, 'o', ...Array.from('nobody'), 'enter'), 20);
    assert.equal(lines[1], 'Nothing here matches; c clears the filters.');
  });

  it('shows the end of a long prompt, without control characters', () => {
    assert.equal(frameOf(press(start(), 20, 'o', 'b', 'o'), 20).lines.at(-1), 'owner: bo_');
    const long = frameOf(press(start(), 20, '/', ...Array.from('x'.repeat(300)), '\u202e'), 20).lines.at(-1) ?? '';
    assert.ok(displayWidth(long) <= 100, long);
    assert.ok(long.endsWith('x\\u202e_'));
  });

  it('shows the first problem on one line at the top, without control characters', () => {
    const problems = ['qmaster is down\u001b[2J; start it', 'another'];
    const { lines } = frameOf(start(), 20, { view: { ...view, problems } });
    assert.equal(lines[1], 'qmaster is down\\x1b[2J; start it (and 1 more)');
    assert.match(lines[2] ?? '', /^job +owner/);
  });

  it('says that it is asking before the first answer', () => {
    const { lines } = renderWatch(start(), null, null, liveScreen(), 5);
    assert.deepEqual(lines.slice(0, 3), ['qmemacct · by share', 'Asking Grid Engine ...', '']);
    const none = { ...view, pending: null };
    assert.equal(frameOf(start('pending'), 5, { view: none }).lines[1], 'Asking Grid Engine ...');
    assert.equal(frameOf(start('pending'), 5, { view: { ...view, pending: [] } }).lines[1], 'Nothing here.');
  });

  it('shows the same text with colours', () => {
    const screen = liveScreen({ colour: true });
    const plain = frameOf(start(), 16).lines;
    // eslint-disable-next-line no-control-regex -- our own colour codes
    const stripped = frameOf(start(), 16, { screen }).lines.map((line) => line.replace(/\u001b\[\d+m/g, '').trimEnd());
    assert.deepEqual(stripped, plain);
  });

  it('draws ten thousand jobs in less than 500 ms of CPU time', () => {
    const large = { ...view, jobs: manyJobs(10_000) };
    const select = rememberingSelect();
    let state = start();
    const draw = (): Frame => renderWatch(state, large, select(state, large), liveScreen({ width: 160 }), 50);
    draw();
    return oneOf(3, () => {
      const began = cpuMs();
      for (let turn = 0; turn < 5; turn++) {
        state = stepWatch(state, turn % 2 === 0 ? 's' : 'pagedown', draw().extent);
        draw();
      }
      assert.ok((cpuMs() - began) / 10 < 500);
    });
  });
});

describe('rememberingSelect', () => {
  it('selects again only if the view, the page, the filter or the order changed', () => {
    const select = rememberingSelect();
    const state = start();
    const first = select(state, view);
    assert.equal(select({ ...state, top: 5, paused: true }, view), first);
    const others: readonly [WatchState, ClusterView][] = [
      [{ ...state, filter: { ...NO_FILTER } }, view],
      [{ ...state, page: 'hosts' }, view],
      [press(state, 10, 'r'), view],
      [state, { ...view }],
    ];
    for (const [other, of] of others) {
      select(state, view);
      assert.notEqual(select(other, of), first);
    }
  });
});
