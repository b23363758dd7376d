import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { it } from 'node:test';
import { daysToWrite } from '../../../src/cli/export/days';
import { temporaryDirectory } from '../../support/temporary-directory';

it('a day is exported to its file once, six hours after its end', () => {
  const directory = temporaryDirectory();
  const since = new Date('2026-11-18T12:00:00Z');
  const days = (now: string): readonly string[] =>
    daysToWrite(directory, ['records', 'csv'], { since, until: new Date(now) }, new Date(now)).map(({ path }) =>
      basename(path),
    );
  assert.deepEqual(days('2026-11-21T05:59:00Z'), ['records-2026-11-19.csv']);
  assert.deepEqual(days('2026-11-21T06:00:00Z'), ['records-2026-11-19.csv', 'records-2026-11-20.csv']);
  writeFileSync(join(directory, 'records-2026-11-19.csv'), '');
  assert.deepEqual(days('2026-11-21T06:00:00Z'), ['records-2026-11-20.csv']);
});
