import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isStoreFault, storeError } from '../../../src/accounting/postgres/faults';
import { StoreError } from '../../../src/accounting/store-error';

const withCode = (code: string, message = 'told'): Error => Object.assign(new Error(message), { code });

describe('faults of PostgreSQL', () => {
  it('of the way to it are no fault of a record, and may pass', () => {
    // As long as SQLSTATEs are, some of them.
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
    const told = storeError('postgres://db/x', withCode('EPIPE', 'write EPIPE'));
    assert.ok(told instanceof StoreError && told.retry);
    assert.match(told.message, /^postgres:\/\/db\/x: the server does not answer \(write EPIPE\); /);
  });

  it('of a statement that took too long name the setting', () => {
    const error = storeError('postgres://db/x', withCode('57014', 'canceling statement due to statement timeout'));
    assert.ok(error instanceof StoreError && error.retry);
    assert.match(error.message, /ended a statement \(canceling .*\); raise the statement_timeout/);
  });

  it('are not what is wrong with a value', () => {
    for (const code of ['22P02', '22003', '23505', '', 'ERR_INVALID_ARG_TYPE'])
      assert.ok(!isStoreFault(withCode(code)), code);
  });
});
