import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { locationOf } from '../../../src/accounting/postgres/location';
import { StoreError } from '../../../src/accounting/store-error';

describe('locationOf', () => {
  it('reads host, port, database, user and TLS', () => {
    const url = 'postgres://hooks@db.example:6432/accounting?sslmode=verify-full&sslrootcert=/etc/ssl/site.pem';
    assert.deepEqual(locationOf(url), {
      host: 'db.example',
      port: 6432,
      database: 'accounting',
      user: 'hooks',
      sslMode: 'verify-full',
      sslRootCert: '/etc/ssl/site.pem',
      text: url,
    });
    const plain = locationOf('postgresql://db/a%20b');
    assert.deepEqual([plain.user, plain.port, plain.database, plain.sslMode], [null, 5432, 'a b', 'verify-full']);
    for (const [host, mode] of [
      ['db.example', 'verify-full'],
      ['10.1.2.3', 'verify-full'],
      ['[fd00::1]', 'verify-full'],
      ['localhost.example', 'verify-full'],
      ['127.0.0.1.example', 'verify-full'],
      ['localhost', 'prefer'],
      ['127.0.1.1', 'prefer'],
      ['[::1]', 'prefer'],
    ] as const) {
      assert.equal(locationOf(`postgres://${host}/a`).sslMode, mode, host);
      assert.equal(locationOf(`postgres://${host}/a?sslmode=disable`).sslMode, 'disable', host);
    }
    assert.equal(locationOf('postgres://localhost/a?sslrootcert=/x').sslMode, 'verify-full');
    const socket = locationOf('postgres:///a?host=/run/postgresql');
    assert.deepEqual([socket.host, socket.sslMode], ['/run/postgresql', 'disable']);
    const six = locationOf('postgres://[::1]:5433/a');
    assert.deepEqual([six.host, six.port], ['::1', 5433]);
  });

  it('refuses what would be misread', () => {
    for (const [url, problem] of [
      ['postgres://bob:secret@db/a', /holds a password/],
      ['postgres://bob@db/a?sslmode=require&password=secret', /holds a password/],
      ['postgres://bob:very/secret@db/a', /not of the form/],
      ['postgres://bob%@db/a', /user is not well encoded/],
      ['postgres://db', /not of the form/],
      ['postgres:///a', /lacks the host/],
      ['postgres://db/a?sslmode=allow', /sslmode is none of/],
      ['postgres://db/a?sslmode=require&sslrootcert=/x', /nothing checks/],
      ['postgres://db/a?sslmode=verify-full&sslrootcert=x', /not an absolute path/],
      ['postgres://db/a?options=-c%20x', /option "options"/],
      ['postgres://db:0/a', /port/],
      ['postgres://a:b:c/x', /is not a host/],
    ] as const)
      assert.throws(
        () => locationOf(url),
        (error) => error instanceof StoreError && problem.test(error.message) && !error.message.includes('secret'),
        url,
      );
  });

  it('throws nothing but StoreError', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (rest) => {
        try {
          assert.notEqual(locationOf(`postgres://${rest}`).database, '');
        } catch (error) {
          assert.ok(error instanceof StoreError);
        }
      }),
    );
  });
});
