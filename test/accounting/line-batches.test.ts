import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { lineBatches, TOO_LONG } from '../../src/accounting/line-batches';
import type { Line } from '../../src/accounting/line-batches';

async function* stream(chunks: readonly (string | number)[]): AsyncGenerator<string> {
  for (const chunk of chunks) {
    if (typeof chunk === 'number') await sleep(chunk);
    else yield chunk;
  }
}

async function batches(chunks: readonly (string | number)[], most = 3): Promise<readonly (readonly Line[])[]> {
  const result: (readonly Line[])[] = [];
  for await (const batch of lineBatches(stream(chunks), most, 20)) result.push(batch);
  return result;
}

it('gathers lines that come in a burst into one batch', async () => {
  assert.deepEqual(await batches(['a\nb', 'c\n', '\n  \n', 'd\n']), [['a', 'bc', 'd']]);
});

it('gives a batch when no more lines come or it is full', async () => {
  assert.deepEqual(await batches(['a\n', 200, 'b\nc\nd\ne\n', 200, 'f\n']), [['a'], ['b', 'c', 'd'], ['e'], ['f']]);
});

it('drops a last line without its end', async () => {
  assert.deepEqual(await batches(['a\nhalf']), [['a']]);
});

it('drops the text of lines that are too long', async () => {
  const long = 'x'.repeat(700_000);
  assert.deepEqual(await batches(['a\n', long, long, long, '\nb\n']), [['a', TOO_LONG, 'b']]);
});

it('loses no line wherever chunks begin and end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.stringMatching(/^[a-z\n]{0,9}$/)), async (chunks) => {
      const expected = chunks
        .join('')
        .split('\n')
        .slice(0, -1)
        .filter((line) => line !== '');
      assert.deepEqual((await batches(chunks)).flat(), expected);
    }),
    { numRuns: 200 },
  );
});
