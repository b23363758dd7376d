import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newUserNames } from '../../../src/server/access/name-service';

describe('newUserNames', () => {
  it('asks the name service of this system', async () => {
    const names = newUserNames();
    const root = await names.user(0);
    assert.equal(root?.name, 'root');
    assert.ok(root.gids.includes(0));
    assert.equal(await names.group('root'), 0);
    assert.equal(await names.user(3_999_999_999), null);
    assert.equal(await names.group('no such group'), null);
    assert.equal(await names.group('--help'), null);
  });

  it('asks once for many, and again when the answer has grown old', async () => {
    const asked: string[] = [];
    let now = 0;
    const names = newUserNames(
      (program, words) => {
        asked.push(words.join(' '));
        return Promise.resolve(
          program.endsWith('id') ? '50 51\n' : words.includes('7') ? 'alice:x:7:50::/:/bin/sh\n' : null,
        );
      },
      () => now,
    );
    const many = await Promise.all(Array.from({ length: 100 }, () => names.user(7)));
    for (const one of many) assert.deepEqual(one, { name: 'alice', gids: [50, 51] });
    assert.deepEqual(asked, ['passwd 7', '-G -- alice']);
    assert.equal(await names.user(8), null);
    now = 11_000;
    assert.equal(await names.user(8), null);
    await names.user(7);
    assert.deepEqual(asked.slice(2), ['passwd 8', 'passwd 8']);
    now = 301_000;
    await names.user(7);
    assert.equal(asked.length, 6);
  });
});
