import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { dayList, largestFirst, type Entry } from '../../src/accounting/sums/largest-first';
import { DAY } from './suite/fixture';

it('dayList reads a stored list of large records, and gives null for a damaged one', () => {
  const list = dayList(3, '[9,7.5]', '[12,4]') ?? assert.fail();
  assert.deepEqual(list, {
    span: { since: 3 * DAY, until: 4 * DAY },
    entries: [
      { id: 12, at: 3 * DAY, amount: 9 },
      { id: 4, at: 3 * DAY, amount: 7.5 },
    ],
    rest: -Infinity,
  });
  for (const [amounts, ids] of [
    ['[9,', '[12]'],
    ['[9]', '[12,4]'],
    ['[9]', '["12"]'],
    ['null', '[]'],
  ] as const)
    assert.equal(dayList(3, amounts, ids), null);
  fc.assert(
    fc.property(fc.string(), fc.json(), (text, json) => {
      for (const garbage of [text, json]) assert.doesNotThrow(() => dayList(3, garbage, garbage));
    }),
  );
});

it('largestFirst collects as many records as are wanted', () => {
  const list = dayList(1, '[300000,299999]', '[1,2]') ?? assert.fail();
  const limit = 300_000;
  const steps = largestFirst({ since: 0, until: 3 * DAY }, limit, [list]);
  const spans: unknown[] = [];
  let step = steps.next();
  while (step.done !== true) {
    const { since } = step.value;
    spans.push(step.value);
    step = steps.next(
      Array.from({ length: limit / 2 }, (_, index): Entry => ({ id: index, at: since, amount: index })),
    );
  }
  assert.equal(step.value.length, limit);
  assert.deepEqual(spans, [
    { since: 2 * DAY, until: 3 * DAY },
    { since: 0, until: DAY },
  ]);
});
