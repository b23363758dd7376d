import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { expandTasks, hasTask } from '../../../src/gridengine/qstat/expand-tasks';

describe('expandTasks', () => {
  it('reads single tasks, ranges and steps', () => {
    const numbers = (text: string) => [...expandTasks(text).numbers];
    assert.deepEqual(numbers('3'), [3]);
    assert.deepEqual(numbers('1-5:2,8'), [1, 3, 5, 8]);
    assert.deepEqual(numbers('1-4'), [1, 2, 3, 4]);
    assert.deepEqual(numbers('2-9:3'), [2, 5, 8]);
    assert.equal(expandTasks('1-12001').count, 12_001);
  });

  it('leaves out text that is no range', () => {
    const text = ',x,5-1,1-3:0,-2,1-99999999999,4294967296, 7 ,1:2';
    assert.deepEqual([...expandTasks(text).numbers], [7]);
    assert.equal(expandTasks('').count, 0);
  });

  it('counts four billion tasks without listing them', () => {
    const tasks = expandTasks('1-4000000000:1,5');
    assert.equal(tasks.count, 4_000_000_001);
    assert.equal([...tasks.numbers].length, 100_000);
    assert.deepEqual([...expandTasks('1-4000000000:1', 2).numbers], [1, 2]);
  });

  it('returns numbers that can be iterated twice', () => {
    const { numbers } = expandTasks('1-2');
    assert.deepEqual([...numbers, ...numbers], [1, 2, 1, 2]);
  });

  it('lists as many numbers as it counts, up to the bound', () => {
    const range = fc.tuple(fc.nat(300), fc.nat(300), fc.integer({ min: 1, max: 9 }));
    fc.assert(
      fc.property(fc.array(range, { maxLength: 5 }), (ranges) => {
        const text = ranges.map(([first, more, step]) => `${first}-${first + more}:${step}`).join(',');
        const tasks = expandTasks(text);
        assert.equal([...tasks.numbers].length, tasks.count);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('0123456789-:, x')) }), (text) => {
        const tasks = expandTasks(text, 10);
        assert.ok([...tasks.numbers].length <= Math.min(10, tasks.count));
      }),
    );
  });
});

describe('hasTask', () => {
  it('finds the tasks of ranges with steps', () => {
    const text = '3,6-10:2,20-22';
    const tasks = Array.from({ length: 25 }, (_, task) => task).filter((task) => hasTask(text, task));
    assert.deepEqual(tasks, [3, 6, 8, 10, 20, 21, 22]);
  });
});
