import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CommandError } from '../../../src/cli/command';
import { backUp, readHistory } from '../../../src/cli/install/backups';
import type { Change } from '../../../src/cli/install/hook-plan';
import { temporaryDirectory } from '../../support/temporary-directory';
import { ourLine, siteOf } from './sites';

const CHANGES: readonly Change[] = [
  { target: { kind: 'global' }, stage: 'prolog', old: '/site/a.sh', new: ourLine('prolog', '/site/a.sh') },
  { target: { kind: 'host', name: 'ge1' }, stage: 'epilog', old: null, new: ourLine('epilog') },
];

function failure(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    assert.ok(error instanceof CommandError);
    return error.message;
  }
  return assert.fail('it did not throw');
}

describe("backups of Grid Engine's configuration", () => {
  it('keep the changes and the whole texts, and are ignored where they are incomplete', () => {
    const directory = join(temporaryDirectory(), 'backup');
    assert.deepEqual(readHistory(directory), []);
    const place = backUp(directory, siteOf(), CHANGES, new Date(0));
    assert.deepEqual(readdirSync(place).sort(), ['changes.json', 'global']);
    mkdirSync(join(directory, '2026'));
    writeFileSync(join(directory, '2026', 'changes.json'), '[{"target"');
    writeFileSync(join(directory, 'README'), '');
    assert.deepEqual(readHistory(directory), CHANGES);
  });

  it('that cannot be written or read are an error with its cause and fix', () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'file');
    writeFileSync(file, '');
    assert.match(
      failure(() => backUp(file, siteOf(), CHANGES, new Date(0))),
      /file: the old texts can't be kept there \(ENOTDIR.*\); give --backup DIR$/,
    );
    mkdirSync(join(directory, '2026', 'changes.json'), { recursive: true });
    assert.match(
      failure(() => readHistory(directory)),
      /: the old texts can't be read \(EISDIR.*\); run this as the user who installed, or give --backup DIR$/,
    );
  });
});
