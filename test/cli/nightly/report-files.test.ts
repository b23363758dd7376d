import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pruneReports, writeReport } from '../../../src/cli/nightly/report-files';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('report files', () => {
  it('are overwritten for a day, and closed to those who may not read the accounting DB', () => {
    const directory = join(temporaryDirectory(), 'reports');
    writeReport(directory, '2026-11-20', 0o640, { html: 'old', json: '{}' });
    writeReport(directory, '2026-11-20', 0o640, { html: 'new', json: '{}' });
    assert.deepEqual(readdirSync(directory), ['2026-11-20.html', '2026-11-20.json']);
    assert.equal(readFileSync(join(directory, '2026-11-20.html'), 'utf8'), 'new');
    assert.equal(statSync(directory).mode & 0o7, 0);
    assert.equal(statSync(join(directory, '2026-11-20.json')).mode & 0o7, 0);
  });

  it('of old days are removed, and nothing else', () => {
    const directory = temporaryDirectory();
    for (const name of ['2026-11-18.html', '2026-11-18.json', '2026-11-19.html', '2026-01-01.txt', 'notes'])
      writeFileSync(join(directory, name), '');
    mkdirSync(join(directory, 'nightly'));
    assert.equal(pruneReports(directory, '2026-11-19'), 2);
    assert.deepEqual(readdirSync(directory), ['2026-01-01.txt', '2026-11-19.html', 'nightly', 'notes']);
  });
});
