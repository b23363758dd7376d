import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { DEFAULT_SETTINGS, loadSettings } from '../../../src/record/settings';
import { FollowedAccess } from '../../../src/server/access/access-settings';
import { temporaryDirectory } from '../../support/temporary-directory';

interface Followed {
  readonly path: string;
  readonly write: (text: string) => void;
  readonly access: FollowedAccess;
  readonly said: string[];
  readonly visibility: () => string;
}

function follow(text: string | null): Followed {
  const path = join(temporaryDirectory(), 'qmemacct.toml');
  const write = (next: string): void => writeFileSync(path, next);
  if (text !== null) write(text);
  const said: string[] = [];
  const access = new FollowedAccess(path, loadSettings(path), (line) => said.push(line));
  return { path, write, access, said, visibility: () => access.current().visibility };
}

describe('FollowedAccess', () => {
  it('takes a change after seeing it twice', () => {
    const { path, write, access, said, visibility } = follow('visibility = "own"');
    access.look();
    access.look();
    assert.deepEqual([visibility(), said], ['own', []]);
    write('visibility = "project"\nserve_names = "anonymous"\nserve_admins = ["alice"]\nserve_tokens = "/etc/tokens"');
    access.look();
    assert.equal(visibility(), 'own');
    access.look();
    assert.deepEqual(access.current(), {
      visibility: 'project',
      serve_names: 'anonymous',
      serve_admins: ['alice'],
      serve_tokens: '/etc/tokens',
    });
    assert.deepEqual(said, [`by ${path} visibility is now "project", serve_names "anonymous"`]);
  });

  it('keeps its settings while the file is empty, broken or gone, and logs that once', () => {
    const { path, write, access, said, visibility } = follow('visibility = "own"');
    write('');
    access.look();
    write('visibility = "own"\n');
    access.look();
    assert.equal(visibility(), 'own');
    write('visibility = "owm"');
    for (let look = 0; look < 4; look++) access.look();
    rmSync(path);
    for (let look = 0; look < 4; look++) access.look();
    assert.equal(visibility(), 'own');
    assert.equal(said.length, 2);
    assert.match(said[0] ?? '', /"visibility" is none of .*; what callers may see stays as it was$/);
    assert.equal(said[1], `${path} is gone; what callers may see stays as it was`);
    write('visibility = "project"');
    access.look();
    access.look();
    assert.equal(visibility(), 'project');
  });

  it('follows a file that is created later', () => {
    const { write, access, said, visibility } = follow(null);
    access.look();
    access.look();
    assert.deepEqual([visibility(), said], [DEFAULT_SETTINGS.visibility, []]);
    write('visibility = "own"');
    access.look();
    access.look();
    assert.equal(visibility(), 'own');
  });
});
