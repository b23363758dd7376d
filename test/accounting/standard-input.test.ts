import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { standardInput } from '../../src/accounting/standard-input';
import { temporaryDirectory } from '../support/temporary-directory';

it('standardInput gives whole characters as they come from a non-blocking pipe', async () => {
  const path = join(temporaryDirectory(), 'pipe');
  execFileSync('mkfifo', [path]);
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writing = openSync(path, 'w');
  const chunks = standardInput(reading);
  const [first, second] = [Buffer.from('job ü').subarray(0, -1), Buffer.from('job ü\n').subarray(-2)];
  const next = chunks.next();
  writeSync(writing, first);
  assert.deepEqual(await next, { value: 'job ', done: false });
  writeSync(writing, second);
  assert.deepEqual(await chunks.next(), { value: 'ü\n', done: false });
  closeSync(writing);
  assert.deepEqual(await chunks.next(), { value: undefined, done: true });
  closeSync(reading);
});
