import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hostInCell } from '../../src/gridengine/own-host';
import { temporaryDirectory } from '../support/temporary-directory';

describe('hostInCell', () => {
  it("gives the first name of the host's line in host_aliases, else the host's own", () => {
    const cell = temporaryDirectory();
    const of = (host: string): string => hostInCell(cell, host);
    assert.equal(of('ge2'), 'ge2');
    mkdirSync(join(cell, 'common'));
    writeFileSync(
      join(cell, 'common/host_aliases'),
      '# old: ge1 x\n\nnode2-ib  GE2 node2 # by InfiniBand\nnode3 ge3\n',
    );
    assert.deepEqual(['ge2', 'ge2.example.org', 'node2-ib', 'ge3', 'ge1', ''].map(of), [
      'node2-ib',
      'node2-ib',
      'node2-ib',
      'node3',
      'ge1',
      '',
    ]);
  });
});
