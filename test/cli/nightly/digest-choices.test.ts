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
const choicesIn = (directory: string): unknown =>
  [...readChoices(directory)].map(([user, { choice }]) => [user, choice]);
const fileName = (owner: number, rest = '0123456789abcdef'): string => `${owner}.${rest}`;

describe('choices about digests', () => {
  it('are what a user chose last', () => {
    const directory = temporaryDirectory();
    assert.equal(choiceOf(directory, uid), null);
    for (const choice of ['on', 'off', 'on'] as const) {
      writeChoice(directory, choice);
      assert.equal(choiceOf(directory, uid)?.choice, choice);
    }
    assert.equal(readdirSync(directory).length, 1);
    assert.equal(statSync(join(directory, readdirSync(directory)[0] ?? '')).mode & 0o777, 0o644);
    assert.deepEqual(choicesIn(directory), [[uid, 'on']]);
  });

  it('keep which other mails were asked for, and since when', { skip: uid !== 0 && 'needs root' }, async () => {
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

  it('count only in a plain file, with one link, that the user owns', () => {
    const directory = temporaryDirectory();
    const outside = join(directory, 'outside');
    writeFileSync(outside, 'on\n');
    writeFileSync(join(directory, fileName(uid + 1)), 'on\n');
    symlinkSync(outside, join(directory, fileName(uid)));
    mkdirSync(join(directory, fileName(uid, 'aaaaaaaaaaaaaaaa')));
    writeFileSync(join(directory, `${uid}.x`), 'on\n');
    writeFileSync(join(directory, fileName(uid, 'bbbbbbbbbbbbbbbb')), 'maybe\n');
    linkSync(outside, join(directory, fileName(uid, 'cccccccccccccccc')));
    assert.deepEqual(choicesIn(directory), []);
    writeChoice(directory, 'off');
    assert.deepEqual(choicesIn(directory), [[uid, 'off']]);
  });

  it('of another user count where that user owns the file', { skip: uid !== 0 && 'needs root' }, () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, fileName(12345)), 'on\n');
    assert.deepEqual(choicesIn(directory), []);
    chownSync(join(directory, fileName(12345)), 12345, 12345);
    assert.deepEqual(choicesIn(directory), [[12345, 'on']]);
  });

  it('are found however many files another user has put there', { skip: uid !== 0 && 'needs root' }, () => {
    const directory = temporaryDirectory();
    chmodSync(directory, 0o1777);
    const listeners = Array.from({ length: 100 }, (_, index) => 2000 + index);
    for (const one of listeners) {
      writeFileSync(join(directory, fileName(one)), 'off\n');
      chownSync(join(directory, fileName(one)), one, one);
    }
    // In the name of no user, of another user, and of the user itself.
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

  it('are none where there is no directory, in which none can be written either', () => {
    assert.deepEqual(choicesIn('/nonexistent/digest'), []);
    assert.throws(() => writeChoice('/nonexistent/digest', 'on'), { code: 'ENOENT' });
  });

  it('get the names of users from the name service', async () => {
    const names = await namesOf([0, 4_000_000_000]);
    assert.deepEqual([...names], [[0, 'root']]);
    assert.equal((await namesOf([])).size, 0);
  });

  it('are an error, not ignored, where the name service does not answer', { skip: uid !== 0 && 'needs root' }, (t) => {
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
