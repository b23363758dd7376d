import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { namesSwapArea } from '../../../src/sources/proc/swap';

const HEADING = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';

describe('namesSwapArea', () => {
  it('sees swap areas below the heading', () => {
    assert.equal(namesSwapArea(HEADING), false);
    assert.equal(namesSwapArea(''), false);
    assert.equal(
      namesSwapArea(`${HEADING}/dev/dm-1                               partition\t33554428\t0\t\t-2\n`),
      true,
    );
    assert.equal(namesSwapArea(`${HEADING}/swapfile file 4 4 -3\n/dev/zram0 partition 8 0 100`), true);
  });

  it('agrees with the total of meminfo on this machine', () => {
    const total = /^SwapTotal: +(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'latin1'))?.[1];
    assert.equal(namesSwapArea(readFileSync('/proc/swaps', 'latin1')), Number(total) > 0);
  });
});
