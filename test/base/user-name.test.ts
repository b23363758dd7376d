import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { describe, it } from 'node:test';
import { userName } from '../../src/base/user-name';

describe('userName', () => {
  it('is the name of a local account', () => {
    assert.equal(userName(0), 'root');
    assert.equal(userName(userInfo().uid), userInfo().username);
  });

  it('is the number of an unknown account', () => {
    assert.equal(userName(1_999_900_001), '1999900001');
  });
});
