import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Tokens } from '../../../src/server/access/tokens';
import { asUser, NOBODY, notRoot } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';

const ONE = 'one-token-for-the-site';
const TWO = 'another-token-for-the-site';

describe('Tokens', () => {
  it('accept the tokens of their file, and none without a file', () => {
    const path = join(temporaryDirectory(), 'tokens');
    writeFileSync(path, `# for the portal\n${ONE}\n\n  ${TWO}  \r\n`, { mode: 0o600 });
    const tokens = new Tokens(() => path);
    assert.deepEqual(
      [ONE, TWO, '', '# for the portal', ONE.slice(1), `${ONE}x`].map((token) => tokens.has(token)),
      [...[true, true], ...[false, false, false, false]],
    );
    assert.equal(tokens.problem(), null);
    assert.deepEqual([new Tokens(() => '').has(''), new Tokens(() => '').problem()], [false, null]);
  });

  it('are read again when the file has changed, gone or appeared', () => {
    const path = join(temporaryDirectory(), 'tokens');
    const tokens = new Tokens(() => path);
    assert.equal(tokens.has(ONE), false);
    assert.match(tokens.problem() ?? '', /tokens can't be used: ENOENT.*; no token is accepted$/);
    writeFileSync(path, ONE, { mode: 0o600 });
    assert.deepEqual([tokens.has(ONE), tokens.problem()], [true, null]);
    writeFileSync(path, `${TWO}\n`);
    assert.deepEqual([tokens.has(ONE), tokens.has(TWO)], [false, true]);
    rmSync(path);
    assert.equal(tokens.has(TWO), false);
  });

  it('reject a file that others can read, a link, a directory, and short tokens', () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'tokens');
    writeFileSync(path, ONE, { mode: 0o600 });
    chmodSync(path, 0o640);
    assert.match(new Tokens(() => path).problem() ?? '', /others may use it \(mode 0640\); chmod 600 it/);
    assert.equal(new Tokens(() => path).has(ONE), false);
    chmodSync(path, 0o600);
    assert.equal(new Tokens(() => path).has(ONE), true);
    symlinkSync(path, join(directory, 'link'));
    assert.match(new Tokens(() => join(directory, 'link')).problem() ?? '', /ELOOP/);
    mkdirSync(join(directory, 'directory'), { mode: 0o700 });
    assert.match(new Tokens(() => join(directory, 'directory')).problem() ?? '', /not a regular file/);
    writeFileSync(path, `${ONE}\nsecret\n`);
    const short = new Tokens(() => path);
    assert.match(short.problem() ?? '', /1 of its tokens are shorter than 16/);
    assert.equal(short.has('secret'), false);
  });

  it('reject a file of another user', { skip: process.getuid?.() !== 0 && 'only root can give files away' }, () => {
    const path = join(temporaryDirectory(), 'tokens');
    writeFileSync(path, ONE, { mode: 0o600 });
    chownSync(path, 65534, 65534);
    assert.match(new Tokens(() => path).problem() ?? '', /belongs to uid 65534; chown it to the user of deliver_as/);
    assert.equal(new Tokens(() => path).has(ONE), false);
  });

  it('name the user that must own a file which the server may not read', { skip: notRoot }, () => {
    const path = join(temporaryDirectory(0o755), 'tokens');
    writeFileSync(path, ONE, { mode: 0o600 });
    const tokens = JSON.stringify(require.resolve('../../../src/server/access/tokens'));
    const script = `console.log(new (require(${tokens}).Tokens)(() => process.argv[1]).problem())`;
    const words = [...asUser(NOBODY), process.execPath, '-e', script, path];
    const { stdout, stderr } = spawnSync('env', words, { encoding: 'utf8', cwd: '/' });
    assert.match(stdout, /EACCES: .*; chown it to the user of deliver_as, .*; no token is accepted\n$/, stderr);
  });
});
