import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interruption } from '../../src/cli/terminal';

const listeners = (): number => process.listenerCount('SIGINT') + process.listenerCount('SIGTERM');

describe('an interruption', () => {
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    it(`by ${name} is asked for once; the next one is the system's`, () => {
      const before = listeners();
      const { signal, release } = interruption();
      assert.deepEqual([signal.aborted, listeners()], [false, before + 2]);
      process.emit(name);
      assert.deepEqual([signal.aborted, listeners()], [true, before]);
      release();
    });

  it('that did not come leaves nothing behind', () => {
    const before = listeners();
    const { signal, release } = interruption();
    release();
    assert.deepEqual([signal.aborted, listeners()], [false, before]);
  });
});
