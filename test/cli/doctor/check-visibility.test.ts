import type { Settings } from '../../../src/record/settings';
import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkVisibility } from '../../../src/cli/doctor/check-visibility';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('checkVisibility', () => {
  it('warns where users can read the file of what is hidden from them', () => {
    const directory = temporaryDirectory();
    const accounting = join(directory, 'accounting.db');
    writeFileSync(accounting, '');
    const found = (
      visibility: Settings['visibility'],
      names: Settings['serve_names'],
      mode: number,
    ): readonly (readonly [string, string])[] => {
      chmodSync(accounting, mode);
      const findings = checkVisibility({ accounting, visibility, serve_names: names });
      return findings.map(({ severity, says }) => [severity, says] as const);
    };
    assert.deepEqual(found('all', 'all', 0o644), []);
    for (const [visibility, names] of [
      ['own', 'all'],
      ['project', 'all'],
      ['all', 'anonymous'],
      ['all', 'own'],
    ] as const) {
      const [[severity, says] = ['', '']] = found(visibility, names, 0o644);
      assert.equal(severity, 'warning');
      assert.match(says, /every user can read .*accounting\.db itself/);
      assert.equal(found(visibility, names, 0o640)[0]?.[0], 'ok');
    }
    const gone = { accounting: join(directory, 'none.db'), visibility: 'own', serve_names: 'all' } as const;
    assert.equal(checkVisibility(gone)[0]?.severity, 'ok');
    const [postgres] = checkVisibility({ ...gone, accounting: 'postgres://db/qmemacct' });
    assert.equal(postgres?.severity, 'ok');
    assert.match(postgres.says, /a role sees what its grants say/);
  });
});
