import type { Settings } from '../../../src/record/settings';
import assert from 'node:assert/strict';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkVisibility } from '../../../src/cli/doctor/check-visibility';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('checkVisibility', () => {
  it('warns where users can read the accounting DB whose jobs are hidden from them', () => {
    const directory = temporaryDirectory(0o755);
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
    const through = join(directory, 'link');
    symlinkSync(directory, through);
    for (const [mode, severity] of [
      [0o750, 'ok'],
      [0o751, 'warning'],
    ] as const) {
      chmodSync(directory, mode);
      chmodSync(accounting, 0o644);
      for (const path of [accounting, join(through, 'accounting.db')])
        assert.equal(
          checkVisibility({ accounting: path, visibility: 'own', serve_names: 'all' })[0]?.severity,
          severity,
        );
    }
    const gone = { accounting: join(directory, 'none.db'), visibility: 'own', serve_names: 'all' } as const;
    assert.equal(checkVisibility(gone)[0]?.severity, 'ok');
    const [postgres] = checkVisibility({ ...gone, accounting: 'postgres://db/qmemacct' });
    assert.equal(postgres?.severity, 'ok');
    assert.match(postgres.says, /a role sees what its grants say/);
  });
});
