import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownSource, startPolling } from '../../src/live/polling';
import type { Snapshot } from '../../src/live/snapshot';
import { fakeQmaster, healthy } from './fake-qmaster';
import { oneOf } from '../tries';
import { anEmptySnapshot } from './snapshot-server';
import { until } from '../support/until';

const fail = (error: unknown): void => assert.fail(String(error));

describe('polling', () => {
  it('polls at once and then at every interval, without drift', () =>
    // On a machine that is busy at that moment a poll is late, or an interval is skipped.
    oneOf(10, async () => {
      const times: number[] = [];
      const polling = startPolling(
        { poll_interval: 0.2 },
        async () => {
          await sleep(30);
          return anEmptySnapshot('c');
        },
        () => times.push(performance.now()),
        fail,
      );
      await until(() => times.length === 6);
      await polling.stop();
      const [first = 0] = times;
      for (const [index, time] of times.entries())
        assert.ok(Math.abs(time - first - index * 200) < 120, `snapshot ${index} after ${time - first} ms`);
    }));

  it('never runs two polls at once, and skips intervals when a poll takes longer', () =>
    oneOf(10, async () => {
      const began = performance.now();
      let at = 0;
      let most = 0;
      const polls: number[] = [];
      const polling = startPolling(
        { poll_interval: 0.1 },
        async () => {
          most = Math.max(most, ++at);
          polls.push(performance.now() - began);
          await sleep(250);
          at--;
          return anEmptySnapshot('c');
        },
        () => undefined,
        fail,
      );
      await until(() => polls.length === 4);
      await polling.stop();
      assert.equal(most, 1);
      for (const [index, time] of polls.entries()) assert.ok(Math.abs(time - index * 300) < 90, String(polls));
    }));

  it('polls at once when it is woken, after the running poll', async () => {
    const polls: number[] = [];
    const began = performance.now();
    const polling = startPolling(
      { poll_interval: 60 },
      async () => {
        polls.push(performance.now() - began);
        await sleep(100);
        return anEmptySnapshot('c');
      },
      () => undefined,
      fail,
    );
    polling.wake();
    await until(() => polls.length === 2);
    await sleep(300);
    polling.wake();
    await until(() => polls.length === 3);
    await polling.stop();
    const [, second = 0, third = 0] = polls;
    assert.ok(second >= 95 && third - second >= 95 && third < 59_000, String(polls));
  });

  it('goes on after an error, and reports it', async () => {
    const errors: unknown[] = [];
    let polls = 0;
    const polling = startPolling(
      { poll_interval: 0.05 },
      () => (++polls === 1 ? Promise.reject(new Error('no')) : Promise.resolve(anEmptySnapshot('c'))),
      () => {
        if (polls === 2) throw new Error('bad view');
      },
      (error) => errors.push(error instanceof Error ? error.message : error),
    );
    await until(() => polls > 2);
    await polling.stop();
    assert.deepEqual(errors, ['no', 'bad view']);
  });

  it('aborts the running query when it stops, and delivers nothing more', async () => {
    const seen: Snapshot[] = [];
    let aborted = false;
    const polling = startPolling(
      { poll_interval: 60 },
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(new Error('stopped'));
          });
        }),
      (snapshot) => seen.push(snapshot),
      fail,
    );
    await polling.stop();
    assert.equal(aborted, true);
    assert.deepEqual(seen, []);
  });

  it("with a source of one's own remembers earlier answers", async () => {
    const fake = fakeQmaster(healthy(() => [1]));
    let pending = false;
    const cell = {
      cell: { root: '/opt/sge', cell: 'site' },
      cluster: 'c',
      rules: { intervalMs: 10_000, usageIntervalMs: 40_000, slackMs: 1000 },
      tools: fake.tools,
    };
    const source = ownSource(cell, () => pending);
    const { signal } = new AbortController();
    await source(signal);
    // As early as a tick may come.
    fake.now += 9_100;
    pending = true;
    const snapshot = await source(signal);
    assert.equal(fake.asked.length, 6);
    assert.equal(snapshot.details.at, fake.now - 9_100);
    assert.equal(snapshot.pending?.value.length, 1);
    assert.equal(snapshot.cell, '/opt/sge/site');
  });
});
