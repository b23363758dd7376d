import assert from 'node:assert/strict';
import { it } from 'node:test';
import { noTotals, type Totals } from '../../../src/record/totals';
import { html } from '../../../src/server/web/html';
import { sumCells, sumsPart } from '../../../src/server/web/pages/sums';

const unusedOf = (known: Partial<Totals>): readonly (string | null)[] => {
  const totals = { ...noTotals(), records: 2, jobs: 2, requested_gib_hours: 8, ...known };
  const [tile = null] = /(?<=<dt>unused<\/dt>\s*<dd>)[^<]*/.exec(String(sumsPart(totals))) ?? [];
  return [tile, String(html`${sumCells(totals)[4] ?? null}`)];
};

it("sums and their cells show unused memory only where it is known, with ~ for Grid Engine's figure", () => {
  assert.deepEqual(unusedOf({}), [null, '']);
  const peak = { requested_with_peak_gib_hours: 4, unused_gib_hours: 0 };
  assert.deepEqual(unusedOf(peak), ['0 GiB·h', '0 GiB·h']);
  const counted = { with_grid_engine: 1, requested_with_grid_engine_gib_hours: 4, unused_by_grid_engine_gib_hours: 0 };
  assert.deepEqual(unusedOf(counted), ['~0 GiB·h', '~0 GiB·h']);
  assert.deepEqual(unusedOf({ ...counted, unused_by_grid_engine_gib_hours: 3 }), ['~3.00 GiB·h', '~3.00 GiB·h']);
});
