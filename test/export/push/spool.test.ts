import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { takeAndSend } from '../../../src/export/push/delivery';
import { MetricPush } from '../../../src/export/push/metric-push';
import type { Point } from '../../../src/export/push/point';
import { later, SENT, type Outcome, type Sink } from '../../../src/export/push/sink';
import { Spool } from '../../../src/export/push/spool';
import { noRoomFor } from '../../support/full-disk';
import { temporaryDirectory } from '../../support/temporary-directory';
import { point } from './servers';

const BLOCK = 4096;
const valuesOf = (points: readonly Point[] | undefined): readonly number[] => points?.map(({ value }) => value) ?? [];

/** A spool with a batch for each value; the next batch finds no room on the disk. */
function spoolOnFullDisk(t: TestContext, mostBytes: number, values: readonly number[]): Spool {
  const directory = temporaryDirectory();
  const nameOf = (index: number): string => join(directory, `99999999999990${index}.json`);
  for (const [index, value] of values.entries()) writeFileSync(nameOf(index), JSON.stringify([point({ value })]));
  noRoomFor(t, (path) => path.startsWith(nameOf(values.length)));
  return new Spool(directory, mostBytes);
}

/** Removes all batches; returns their values. */
function drain(spool: Spool): readonly number[] {
  const values: number[] = [];
  for (let batch = spool.oldest(); batch !== null; batch = spool.oldest()) {
    values.push(...valuesOf(batch.points));
    spool.remove(batch.name);
  }
  return values;
}

describe('the spool', () => {
  it('keeps batches in order, also for the next process', () => {
    const directory = join(temporaryDirectory(), 'a', 'sink');
    const spool = new Spool(directory, 2 ** 20);
    for (let value = 1; value <= 30; value++) spool.add([point({ value })]);
    spool.update({ store: 'a', position: 7, last: 'x', open: [1, 2] });
    const next = new Spool(directory, 2 ** 20);
    assert.deepEqual(next.state, { store: 'a', position: 7, last: 'x', open: [1, 2], dropped: 0, refused: 0 });
    assert.deepEqual(
      drain(next),
      Array.from({ length: 30 }, (_item, index) => index + 1),
    );
  });

  it('drops the oldest batches where there is no room, and counts them', () => {
    const spool = new Spool(join(temporaryDirectory(), 'sink'), 3 * BLOCK);
    const dropped = [1, 2, 3, 4, 5].map((value) => spool.add([point({ value })]));
    assert.deepEqual(dropped, [false, false, false, true, true]);
    assert.equal(spool.state.dropped, 2);
    assert.deepEqual(drain(spool), [3, 4, 5]);
  });

  it('counts batches dropped for a new one that finds no room on the disk, and leaves nothing of the new one', (t) => {
    const spool = spoolOnFullDisk(t, 2 * BLOCK, [1, 2]);
    assert.throws(() => spool.add([point({ value: 3 })]), /ENOSPC/);
    assert.equal(spool.state.dropped, 1);
    assert.deepEqual(readdirSync(spool.directory), ['999999999999901.json', 'state.json']);
  });

  it('skips files that a killed process has left, and files that are no batch', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, '000000000000001.json.99.new'), '[{"metr');
    writeFileSync(join(directory, '000000000000002.json'), '[{"metric":1}]');
    writeFileSync(join(directory, 'state.json'), '{"position":');
    const spool = new Spool(directory, 2 ** 20);
    spool.add([point({ value: 3 })]);
    assert.deepEqual(drain(spool), [3]);
    assert.equal(spool.state.dropped, 1);
  });

  it('says in one line why it cannot use a directory', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    assert.throws(() => new Spool(join(directory, 'file', 'sink'), 1), /export_dir: .*ENOTDIR.*user that pushes/);
    if (process.geteuid?.() !== 0) return;
    mkdirSync(join(directory, 'open'));
    chmodSync(join(directory, 'open'), 0o777);
    assert.throws(() => new Spool(join(directory, 'open', 'sink'), 1), /root would trust it, and everyone can write/);
  });
});

describe('points that are pushed', () => {
  it('wait while the sink is away, and are dropped where there is no room; each problem is logged once', async () => {
    let outcome: Outcome = later('it is away');
    const sent: number[] = [];
    const sink: Sink<Point> = {
      most: 100,
      send: (points) => {
        if (outcome.kind === 'sent') sent.push(...valuesOf(points));
        return Promise.resolve(outcome);
      },
      test: () => Promise.resolve(SENT),
    };
    const directory = join(temporaryDirectory(), 'sink');
    const said: string[] = [];
    let value = 0;
    // Each knows nothing of the last failure, like a new process.
    const pushOf = (): MetricPush =>
      new MetricPush(
        sink,
        new Spool(directory, 4 * BLOCK),
        () => Promise.resolve([point({ value: ++value })]),
        (line) => said.push(line),
      );
    const { signal } = new AbortController();
    const push = pushOf();
    assert.equal(await takeAndSend(push, signal), 'it is away');
    for (let count = 0; count < 6; count++) assert.notEqual(await takeAndSend(push, signal), null);
    assert.deepEqual(said, [
      'nothing is sent: it is away',
      'its spool is full: the oldest figures are dropped; a larger "spool_mib" keeps more',
    ]);
    outcome = SENT;
    assert.equal(await takeAndSend(pushOf(), signal), null);
    assert.deepEqual(sent, [5, 6, 7, 8]);
    assert.deepEqual(
      readdirSync(directory).filter((name) => name !== 'state.json'),
      [],
    );
    outcome = { kind: 'sent', refused: 1, reason: 'too old' };
    const again = pushOf();
    said.length = 0;
    for (let count = 0; count < 3; count++) assert.equal(await takeAndSend(again, signal), null);
    assert.deepEqual(said, ['it rejects 1 of 1 for good: too old']);
    assert.equal(new Spool(directory, BLOCK).state.refused, 3);
  });

  it('are not dropped or counted as dropped while they are being sent', async () => {
    const sent: number[] = [];
    let answer: (outcome: Outcome) => void = () => undefined;
    const sink: Sink<Point> = {
      most: 100,
      send: (points) => {
        sent.push(...valuesOf(points));
        return new Promise((resolve) => (answer = resolve));
      },
      test: () => Promise.resolve(SENT),
    };
    const spool = new Spool(join(temporaryDirectory(), 'sink'), 2 * BLOCK);
    let value = 0;
    const collect = (): Promise<readonly Point[]> => Promise.resolve([point({ value: ++value })]);
    const push = new MetricPush(sink, spool, collect, () => undefined);
    await push.take();
    const sending = push.send(new AbortController().signal);
    for (let count = 0; count < 3; count++) await push.take();
    assert.equal(spool.state.dropped, 2);
    answer(later('it is away'));
    assert.equal(await sending, 'it is away');
    assert.deepEqual(sent, [1]);
    assert.deepEqual(drain(spool), [1, 4]);
  });

  it('are sent where the disk has no room for new points', async (t) => {
    const sent: number[] = [];
    const sink: Sink<Point> = {
      most: 100,
      send: (points) => {
        sent.push(...valuesOf(points));
        return Promise.resolve(SENT);
      },
      test: () => Promise.resolve(SENT),
    };
    const spool = spoolOnFullDisk(t, 2 ** 20, [1, 2]);
    const push = new MetricPush(
      sink,
      spool,
      () => Promise.resolve([point({ value: 3 })]),
      (line) => assert.fail(line),
    );
    await assert.rejects(takeAndSend(push, new AbortController().signal), /ENOSPC/);
    assert.deepEqual(sent, [1, 2]);
    assert.equal(spool.oldest(), null);
  });
});
