import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newUserNames } from '../../../src/server/access/name-service';
import { cachedLookup } from '../../../src/server/cached-lookup';

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

  it('asks once for many callers, and again when the answer has grown old', async () => {
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

describe('cachedLookup', () => {
  it('keeps answers by name for the given time, and keeps no error', async () => {
    let now = 0;
    let asked = 0;
    const find = async (key: readonly string[]): Promise<string | null> => {
      asked++;
      if (key[0] === 'bad') return Promise.reject(new Error('away'));
      return Promise.resolve(key[0] ?? null);
    };
    const lookUp = cachedLookup(find, () => now, { keepMs: 100, keepNothingMs: 10, nameOf: ([first]) => first });
    assert.deepEqual(await Promise.all([lookUp(['a', 'b']), lookUp(['a', 'c'])]), ['a', 'a']);
    assert.equal(await lookUp([]), null);
    assert.equal(asked, 2);
    now = 10;
    await Promise.all([lookUp(['a']), lookUp([])]);
    assert.equal(asked, 3);
    now = 100;
    await lookUp(['a']);
    assert.equal(asked, 4);
    for (const expected of [5, 6]) {
      await assert.rejects(lookUp(['bad']), /away/);
      assert.equal(asked, expected);
    }
  });

  it('asks again after the clock was set back', async () => {
    let now = 3_600_000;
    let asked = 0;
    const lookUp = cachedLookup(
      () => Promise.resolve(++asked),
      () => now,
    );
    await lookUp('alice');
    now = 0;
    assert.equal(await lookUp('alice'), 2);
  });
});
