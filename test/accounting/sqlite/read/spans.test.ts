import assert from 'node:assert/strict';
import { it } from 'node:test';
import { inSpans } from '../../../../src/accounting/sqlite/read/spans';

it('joins parts that touch and leaves out the empty ones', () => {
  const span = (since: number, until: number): { since: number; until: number } => ({ since, until });
  assert.deepEqual(inSpans([span(0, 5), span(5, 5), span(5, 7), span(9, 8), span(9, 12), span(13, 14)]), [
    span(0, 7),
    span(9, 12),
    span(13, 14),
  ]);
  assert.deepEqual(inSpans([]), []);
});
