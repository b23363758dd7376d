import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { makePrivateState, takeJobNumber } from '../../../src/cli/run/private-state';
import { temporaryDirectory } from '../../support/temporary-directory';

it('private runs are numbered from 1 again where the file of the last number is damaged', () => {
  const directory = temporaryDirectory();
  const state = makePrivateState(directory, { cluster: '(run)', accounting: join(directory, 'accounting.db') });
  function taken(): number {
    const { job, spool } = takeJobNumber(state);
    rmSync(spool, { recursive: true });
    return job;
  }
  assert.deepEqual([taken(), taken()], [1, 2]);
  for (const damaged of ['', '\0\0', 'x', '-5', '1e3', '9007199254740993', '99999999999999999999999']) {
    writeFileSync(join(directory, 'last-job'), damaged);
    assert.deepEqual([taken(), taken()], [1, 2], damaged);
  }
});
