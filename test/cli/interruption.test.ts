import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interruption } from '../../src/cli/terminal';

const listeners = (): number => process.listenerCount('SIGINT') + process.listenerCount('SIGTERM');

describe('interruption', () => {
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    it(`aborts at the first ${name} and leaves the next one to the system`, () => {
      const before = listeners();
      const { signal, release } = interruption();
      assert.deepEqual([signal.aborted, listeners()], [false, before + 2]);
      process.emit(name);
      assert.deepEqual([signal.aborted, listeners()], [true, before]);
      release();
    });

  it('leaves no listener behind when it is released without a signal', () => {
    const before = listeners();
    const { signal, release } = interruption();
    release();
    assert.deepEqual([signal.aborted, listeners()], [false, before]);
  });
});
