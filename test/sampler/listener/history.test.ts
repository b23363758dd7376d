import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newHistory } from '../../../src/sampler/listener/history';
import { exec, exit, fork } from './events';

describe('the history of events', () => {
  it('gives the events of a process’s descendants, and no others', () => {
    const history = newHistory();
    const own = [fork(1, 10, 20), exec(3, 20), fork(4, 20, 21), exit(5, 21), fork(7, 20, 22)];
    for (const event of [...own, fork(2, 11, 30), exec(6, 30)].sort((a, b) => a.at - b.at)) history.add(event);
    const { events, members } = history.of([10]);
    assert.deepEqual(events, own);
    assert.deepEqual([...members], [10, 20, 22]);
  });

  it('takes an earlier process with the same pid for another one', () => {
    const history = newHistory();
    for (const event of [fork(1, 10, 20), fork(2, 1, 10), fork(3, 10, 40)]) history.add(event);
    assert.deepEqual(history.of([10]), { events: [fork(3, 10, 40)], members: new Set([10, 40]) });
  });

  it('gives no events from before a loss', () => {
    const history = newHistory();
    for (const event of [fork(1, 10, 20), fork(2, 20, 21)]) history.add(event);
    history.lost(2);
    history.add(fork(3, 20, 22));
    history.add(fork(4, 10, 23));
    assert.deepEqual(history.of([10]).events, [fork(4, 10, 23)]);
    assert.deepEqual(history.of([20]).events, [fork(3, 20, 22)]);
  });

  it('is limited by age and by number', () => {
    const history = newHistory();
    history.add(fork(1, 10, 20));
    history.add(fork(2_000_000, 10, 21));
    history.add(exec(61_000_001, 99));
    assert.deepEqual(history.of([10]).events, [fork(2_000_000, 10, 21)]);
    for (let count = 0; count < 200_000; count++) history.add(fork(61_000_002, 10, 1000 + count));
    const { events } = history.of([10]);
    assert.equal(events.length, 60_000);
    assert.deepEqual(events.at(-1), fork(61_000_002, 10, 200_999));
  });
});
