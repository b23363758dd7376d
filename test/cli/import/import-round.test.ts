import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { dryStore, importRound, siteFiles, type FollowedSite } from '../../../src/cli/import/import-site';
import { USUAL_RULES } from '../../../src/record/request-rules';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { sampleLines } from '../../accounting/import/sample-lines';
import { temporaryDirectory } from '../../support/temporary-directory';

it('a damaged accounting file is a problem in each round until it is whole or gone', async () => {
  const directory = temporaryDirectory();
  const file = join(directory, 'accounting');
  const old = `${file}.1.gz`;
  const whole = gzipSync(sampleLines(1, 3));
  const site = siteFiles({ ...DEFAULT_SETTINGS, accounting_files: [file] }, {});
  const store = dryStore([]);
  const followed: FollowedSite = {
    site,
    store: null,
    target: store,
    rules: USUAL_RULES,
    seen: new Map(),
  };
  const round = async (): Promise<readonly string[]> => {
    const { problems } = await importRound(followed, {});
    return [...problems.keys()];
  };
  writeFileSync(file, sampleLines(4, 1));
  writeFileSync(old, whole.subarray(0, 40));
  assert.deepEqual([await round(), await round()], [[old], [old]]);
  writeFileSync(old, whole);
  assert.deepEqual([await round(), await round()], [[], []]);
  writeFileSync(old, whole.subarray(0, 40));
  assert.deepEqual(await round(), [old]);
  rmSync(old);
  assert.deepEqual(await round(), []);
});

it('an accounting file that could not be read is read in the next round, though it has not changed', async (t) => {
  const file = join(temporaryDirectory(), 'accounting');
  writeFileSync(file, sampleLines(1, 3));
  const site = siteFiles({ ...DEFAULT_SETTINGS, accounting_files: [file] }, {});
  const followed: FollowedSite = { site, store: null, target: dryStore([]), rules: USUAL_RULES, seen: new Map() };
  const { mock } = t.mock.method(fs, 'open', () => Promise.reject(new Error('ESTALE: stale file handle')));
  const failed = await importRound(followed, {});
  assert.deepEqual([failed.lines, [...failed.problems.keys()]], [0, [file]]);
  mock.restore();
  const { lines, problems } = await importRound(followed, {});
  assert.deepEqual([lines, problems.size], [3, 0]);
  assert.equal((await importRound(followed, {})).lines, 0);
});
