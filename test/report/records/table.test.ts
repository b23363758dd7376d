import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { displayWidth } from '../../../src/report/screen/text-width';
import { MANY_OWNERS_COLUMNS, RECORD_COLUMN_NAMES } from '../../../src/report/records/columns';
import { toJobLines, toLines } from '../../../src/report/records/lines';
import { renderRecordColumns, renderRecordTable } from '../../../src/report/records/list';
import { assertGolden } from '../golden';
import { MANY_OWNERS } from '../many-owners';
import { firstRun, unsampled } from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

const records = [...MANY_OWNERS, unsampled, firstRun];

describe('renderRecordTable', () => {
  it('shows all columns', () => {
    const view = { columns: RECORD_COLUMN_NAMES, chosen: true, width: null };
    assertGolden('record-columns-all', renderRecordTable(toJobLines(records, 'time'), view, testScreen()).lines);
  });

  it('shows owners where the jobs are of several', () => {
    const view = { columns: MANY_OWNERS_COLUMNS, chosen: false, width: 100 };
    assertGolden(
      'record-columns',
      renderRecordTable(toLines(records, 'unused').slice(0, 12), view, testScreen()).lines,
    );
  });

  it('drops the last of the chosen columns on a narrow screen, and names them', () => {
    const columns = ['ended', 'owner', 'started', 'submitted', 'peak', 'used', 'requested', 'queue', 'host'] as const;
    for (const width of [60, 80, 100]) {
      const table = renderRecordTable(toLines(records, 'time'), { columns, chosen: true, width }, testScreen());
      assert.ok(table.lines.every((line) => displayWidth(line) <= width));
      assert.match(table.lines[0] ?? '', /^ended +owner +started/);
      assert.deepEqual(table.leftOut.includes('requested'), width === 60);
    }
    const wide = renderRecordTable(toLines(records, 'time'), { columns, chosen: true, width: null }, testScreen());
    assert.deepEqual(wide.leftOut, []);
  });
});

describe('renderRecordColumns', () => {
  it('gives the name and the meaning of each column', () => {
    const lines = renderRecordColumns(testScreen({ width: 160 }));
    assert.equal(lines.length, RECORD_COLUMN_NAMES.length + 1);
    for (const line of renderRecordColumns(testScreen({ width: 60 }))) assert.ok(line.length <= 60, line);
    assert.match(lines.join('\n'), /\nshare +of limit +memory efficiency: that peak over the limit/);
  });
});
