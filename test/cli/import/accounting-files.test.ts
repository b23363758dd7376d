import assert from 'node:assert/strict';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { accountingFilesIn, CELL_NAMES, passedOverIn } from '../../../src/cli/import/accounting-files';
import { progressText } from '../../../src/cli/commands/import';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('accountingFilesIn', () => {
  it("finds the accounting file's neighbours, the oldest first", () => {
    const directory = temporaryDirectory();
    const names = [
      'accounting-20251121.gz',
      'accounting.2.gz',
      'accounting.1',
      'accounting.old.gz',
      'accounting.2026-11-21T00:00:00+01:00',
      'accounting.0',
      'accounting.jsonl.1.gz',
      'accounting.jsonl',
      'accounting',
    ];
    const others = [
      'accounting.lock',
      'accounting_old',
      'act_qmaster',
      'accounting.txt',
      'my-accounting',
      'accounting~',
    ];
    for (const [index, name] of [...names, ...others].entries()) {
      writeFileSync(join(directory, name), '');
      utimesSync(join(directory, name), 1000 + index, 1000 + index);
    }
    mkdirSync(join(directory, 'accounting.3'));
    assert.deepEqual(
      accountingFilesIn({ directory, names: CELL_NAMES }).map((path) => basename(path)),
      names,
    );
  });
});

describe('passedOverIn', () => {
  it('names rotated files that cannot be read and are there in no other form', () => {
    const directory = temporaryDirectory();
    const names = [
      'accounting',
      'accounting.1.xz',
      'accounting-20261120.zst',
      'accounting.2.bz2',
      'accounting.2',
      'a.xz',
    ];
    for (const name of names) writeFileSync(join(directory, name), '');
    assert.deepEqual(passedOverIn({ directory, names: CELL_NAMES }), ['accounting-20261120.zst', 'accounting.1.xz']);
  });
});

describe('progressText', () => {
  it('shows the share, the speed and the time left', () => {
    assert.equal(
      progressText(1_000_000, 300, 1200, 10),
      '[#####...............] 25 %, 1,000,000 lines, 100,000 lines/s, 30 s left',
    );
    assert.equal(progressText(0, 0, 0, 0), '[####################] 100 %, 0 lines');
  });
});
