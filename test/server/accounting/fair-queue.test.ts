import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FairQueue } from '../../../src/server/accounting/fair-queue';

function all(turns: FairQueue<string>): readonly string[] {
  const found: string[] = [];
  for (let item = turns.take(); item !== undefined; item = turns.take()) found.push(item);
  return found;
}

describe('FairQueue', () => {
  it("takes items of callers in turn, and each caller's in order", () => {
    const turns = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) turns.add(item.slice(0, 1), item);
    assert.equal(turns.size, 6);
    assert.deepEqual(all(turns), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    assert.equal(turns.size, 0);
  });

  it('puts a caller who had a turn behind the others, also for new items', () => {
    const turns = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'b1']) turns.add(item.slice(0, 1), item);
    assert.equal(turns.take(), 'a1');
    turns.add('a', 'a3');
    turns.add('c', 'c1');
    assert.deepEqual(all(turns), ['b1', 'a2', 'c1', 'a3']);
  });

  it('removes items, and finds the newest item of the caller with most', () => {
    const turns = new FairQueue<string>();
    assert.equal(turns.newestOfLargest(), undefined);
    for (const item of ['a1', 'b1', 'b2', 'b3']) turns.add(item.slice(0, 1), item);
    assert.equal(turns.newestOfLargest(), 'b3');
    turns.remove('b', 'b2');
    turns.remove('b', 'b2');
    turns.remove('a', 'a1');
    turns.remove('nobody', 'a1');
    assert.equal(turns.size, 2);
    assert.deepEqual(all(turns), ['b1', 'b3']);
  });
});
