import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/until';

describe('until', () => {
  it('asks until there is an answer, which may be 0', async () => {
    const answers = [null, null, 0, 1];
    assert.equal(await until(() => answers.shift(), 60_000, 1), 0);
    assert.deepEqual(answers, [1]);
  });

  it('gives the last answer once the time is over', async () => {
    assert.equal(await until(() => Promise.resolve(false), -1, 1), false);
    await assert.rejects(
      until(() => Promise.reject(new Error('gone')), 60_000, 1),
      /gone/,
    );
  });
});
