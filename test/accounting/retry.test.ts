import assert from 'node:assert/strict';
import { it } from 'node:test';
import { backoffMs, withPatience } from '../../src/accounting/retry';
import { StoreError } from '../../src/accounting/store-error';

const temporary = new StoreError('/x', 'it is locked', 'try again', true);
const permanent = new StoreError('/x', 'it is damaged', 'restore it', false);

function failing(times: number, fault: Error): () => Promise<string> {
  let left = times;
  return () => (left-- > 0 ? Promise.reject(fault) : Promise.resolve('done'));
}

it('backoffMs doubles the wait, up to 30 s, and draws it from its upper half', () => {
  assert.deepEqual(
    [1, 2, 3].map((attempt) => backoffMs(attempt, () => 1)),
    [100, 200, 400],
  );
  assert.equal(
    backoffMs(3, () => 0),
    200,
  );
  assert.equal(
    backoffMs(10_000, () => 1),
    30_000,
  );
});

it('withPatience tries again after a temporary fault', async () => {
  const faults: StoreError[] = [];
  assert.equal(await withPatience(failing(2, temporary), 600_000, (fault) => faults.push(fault)), 'done');
  assert.equal(faults.length, 2);
});

it('withPatience does not lose its patience when the clock is set', async (t) => {
  let now = Date.now();
  t.mock.method(Date, 'now', () => (now += 86_400_000));
  assert.equal(await withPatience(failing(2, temporary), 600_000, () => undefined), 'done');
});

it('withPatience gives up at the end of its patience', async () => {
  await assert.rejects(
    withPatience(failing(99, temporary), 150, () => undefined),
    temporary,
  );
});

it('withPatience does not try again after a permanent fault', async () => {
  for (const error of [permanent, new Error('a mistake of ours')]) {
    let calls = 0;
    const step = (): Promise<never> => {
      calls++;
      return Promise.reject(error);
    };
    await assert.rejects(
      withPatience(step, 5000, () => undefined),
      error,
    );
    assert.equal(calls, 1);
  }
});
