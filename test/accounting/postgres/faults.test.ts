import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isStoreFault, storeError } from '../../../src/accounting/postgres/faults';
import { StoreError } from '../../../src/accounting/store-error';

const withCode = (code: string, message = 'a message'): Error => Object.assign(new Error(message), { code });

describe('faults of PostgreSQL', () => {
  it('on the way to the server are not the fault of a record, and are temporary', () => {
    // Some of these codes are as long as an SQLSTATE.
    for (const code of [
      'EPIPE',
      'ECONNREFUSED',
      'ECONNRESET',
      'ENOENT',
      'EACCES',
      'CONNECTION_CLOSED',
      '57P01',
      '08006',
    ])
      assert.ok(isStoreFault(withCode(code)), code);
    const error = storeError('postgres://db/x', withCode('EPIPE', 'write EPIPE'));
    assert.ok(error instanceof StoreError && error.retry);
    assert.match(error.message, /^postgres:\/\/db\/x: the server does not answer \(write EPIPE\); /);
  });

  it('with a statement timeout name the setting to raise', () => {
    const error = storeError('postgres://db/x', withCode('57014', 'canceling statement due to statement timeout'));
    assert.ok(error instanceof StoreError && error.retry);
    assert.match(error.message, /ended a statement \(canceling .*\); raise the statement_timeout/);
  });

  it('do not include an invalid value', () => {
    for (const code of ['22P02', '22003', '23505', '', 'ERR_INVALID_ARG_TYPE'])
      assert.ok(!isStoreFault(withCode(code)), code);
  });
});
