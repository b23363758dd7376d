import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, linkSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  namesOf,
  readChoices,
  choiceOf,
  choicesByName,
  writeChoice,
  type UserChoice,
} from '../../../src/cli/nightly/digest-choices';
import { temporaryDirectory } from '../../support/temporary-directory';
import { asUser, NOBODY } from '../../support/qmemacct';

const uid = process.geteuid?.() ?? -1;
const said = (directory: string): unknown => [...readChoices(directory)].map(([user, { choice }]) => [user, choice]);
const name = (owner: number, rest = '0123456789abcdef'): string => `${owner}.${rest}`;

describe('choices about digests', () => {
  it('are what a user said last', () => {
    const directory = temporaryDirectory();
    assert.equal(choiceOf(directory, uid), null);
    for (const choice of ['on', 'off', 'on'] as const) {
      writeChoice(directory, choice);
      assert.equal(choiceOf(directory, uid)?.choice, choice);
    }
    assert.equal(readdirSync(directory).length, 1);
    assert.equal(statSync(join(directory, readdirSync(directory)[0] ?? '')).mode & 0o777, 0o644);
    assert.deepEqual(said(directory), [[uid, 'on']]);
  });

  it('hold what else was asked for, and since when', { skip: uid !== 0 && 'needs root' }, async () => {
    const directory = temporaryDirectory();
    const before = Date.now() - 1000;
    writeChoice(directory, 'off', ['at-risk']);
    assert.deepEqual(choiceOf(directory, uid)?.also, ['at-risk']);
    const mails = ({ also }: UserChoice): boolean => also.length > 0;
    const choices = (await choicesByName(directory, mails)).get('root');
    assert.deepEqual([choices?.choice, choices?.also], ['off', ['at-risk']]);
    assert.ok((choices?.since ?? 0) > before);
    writeChoice(directory, 'on');
    assert.equal((await choicesByName(directory, mails)).size, 0);
    assert.equal((await choicesByName(directory)).get('root')?.choice, 'on');
  });

  it('are believed of nobody but the owner of a plain file', () => {
    const directory = temporaryDirectory();
    const outside = join(directory, 'outside');
    writeFileSync(outside, 'on\n');
    writeFileSync(join(directory, name(uid + 1)), 'on\n');
    symlinkSync(outside, join(directory, name(uid)));
    mkdirSync(join(directory, name(uid, 'aaaaaaaaaaaaaaaa')));
    writeFileSync(join(directory, `${uid}.x`), 'on\n');
    writeFileSync(join(directory, name(uid, 'bbbbbbbbbbbbbbbb')), 'maybe\n');
    linkSync(outside, join(directory, name(uid, 'cccccccccccccccc')));
    assert.deepEqual(said(directory), []);
    writeChoice(directory, 'off');
    assert.deepEqual(said(directory), [[uid, 'off']]);
  });

  it('of another user are told by the file', { skip: uid !== 0 && 'needs root' }, () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, name(12345)), 'on\n');
    assert.deepEqual(said(directory), []);
    chownSync(join(directory, name(12345)), 12345, 12345);
    assert.deepEqual(said(directory), [[12345, 'on']]);
  });

  it('are heard however many files another user has put there', { skip: uid !== 0 && 'needs root' }, () => {
    const directory = temporaryDirectory();
    chmodSync(directory, 0o1777);
    const listeners = Array.from({ length: 100 }, (_, index) => 2000 + index);
    for (const one of listeners) {
      writeFileSync(join(directory, name(one)), 'off\n');
      chownSync(join(directory, name(one)), one, one);
    }
    // In his own name, in another's, and in none.
    const flood = `const { openSync, closeSync } = require('node:fs');
      const hex = (n) => n.toString(16).padStart(16, '0');
      for (let n = 0; n < 12000; n++)
        closeSync(openSync(process.argv[1] + '/' + ['!', '1000.', '65534.'][n % 3] + hex(n), 'wx'));
      const last = process.argv[1] + '/65534.ffffffffffffffff';
      require('node:fs').writeFileSync(last, 'on');
      require('node:fs').utimesSync(last, Date.now() / 1000 + 9, Date.now() / 1000 + 9);`;
    const [program, ...words] = [...asUser(NOBODY), process.execPath, '-e', flood, directory];
    const run = spawnSync(program, words, { encoding: 'utf8' });
    assert.equal(run.stderr, '');
    const choices = readChoices(directory);
    assert.deepEqual(
      listeners.filter((one) => choices.get(one)?.choice !== 'off'),
      [],
    );
    assert.equal(choices.size, listeners.length + 1);
    assert.equal(choiceOf(directory, 2005)?.choice, 'off');
    assert.equal(choiceOf(directory, 65534)?.choice, 'on');
  });

  it('none, where there is no directory; an error only for who wants to say something', () => {
    assert.deepEqual(said('/nonexistent/digest'), []);
    assert.throws(() => writeChoice('/nonexistent/digest', 'on'), { code: 'ENOENT' });
  });

  it('get their names from the name service', async () => {
    const names = await namesOf([0, 4_000_000_000]);
    assert.deepEqual([...names], [[0, 'root']]);
    assert.equal((await namesOf([])).size, 0);
  });

  it('are not passed over where the name service can’t be asked', { skip: uid !== 0 && 'needs root' }, (t) => {
    const directory = temporaryDirectory();
    writeChoice(directory, 'off');
    const broken = join(temporaryDirectory(), 'getent');
    writeFileSync(broken, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const ask = `require(process.argv[1]).choicesByName(process.argv[2]).catch((error) => console.log(error.message))`;
    const script = `mount --bind "$1" /usr/bin/getent || exit 77; exec "$2" -e '${ask}' "$3" "$4"`;
    const choices = require.resolve('../../../src/cli/nightly/digest-choices');
    const words = ['-m', 'sh', '-c', script, 'sh', broken, process.execPath, choices, directory];
    const { status, stdout } = spawnSync('unshare', words, { encoding: 'utf8' });
    if (status !== 0) t.skip('nothing can be mounted over getent here');
    else assert.equal(stdout, "/usr/bin/getent can't say whose choices these are (1)\n");
  });
});
