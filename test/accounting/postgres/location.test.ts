import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { locationsOf, type Location } from '../../../src/accounting/postgres/location';
import { StoreError } from '../../../src/accounting/store-error';
import { anyCharacter } from '../../support/any-character';

/** The only server of a URL. */
function locationOf(url: string): Location {
  const [location, ...others] = locationsOf(url);
  assert.ok(location !== undefined && others.length === 0);
  return location;
}

describe('locationsOf', () => {
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

  it('reads several servers, each with its port and TLS', () => {
    const serversOf = (url: string): unknown =>
      locationsOf(url).map(({ host, port, sslMode, user }) => [host, port, sslMode, user]);
    assert.deepEqual(serversOf('postgres://hooks@db1,db2:6432,[fd00::1]:5433,localhost/a'), [
      ['db1', 5432, 'verify-full', 'hooks'],
      ['db2', 6432, 'verify-full', 'hooks'],
      ['fd00::1', 5433, 'verify-full', 'hooks'],
      ['localhost', 5432, 'prefer', 'hooks'],
    ]);
    assert.deepEqual(serversOf('postgres:///a?host=/run/a,db2&port=5433'), [
      ['/run/a', 5433, 'disable', null],
      ['db2', 5433, 'verify-full', null],
    ]);
    assert.deepEqual(serversOf('postgres:///a?host=/run/a,/run/b&port=1,2'), [
      ['/run/a', 1, 'disable', null],
      ['/run/b', 2, 'disable', null],
    ]);
  });

  it('refuses a URL that is wrong or ambiguous, without its password', () => {
    for (const [url, problem] of [
      ['postgres://bob:secret@db/a', /holds a password/],
      ['postgres://bob@db/a?sslmode=require&password=secret', /holds a password/],
      ['postgres://bob:very/secret@db/a', /not a URL/],
      ['postgres://bob%@db/a', /user is not well encoded/],
      ['postgres://db', /not a URL/],
      ['postgres:///a', /lacks the host/],
      ['postgres://db/a?sslmode=allow', /sslmode is none of/],
      ['postgres://db/a?sslmode=require&sslrootcert=/x', /nothing checks/],
      ['postgres://db/a?sslmode=verify-full&sslrootcert=x', /not an absolute path/],
      ['postgres://db/a?options=-c%20x', /option "options"/],
      ['postgres://db:0/a', /port/],
      ['postgres://db1,/a', /lacks the host/],
      ['postgres://db1,a:b:c/x', /"a:b:c" is not a host/],
      ['postgres:///a?host=db1,db2,db3&port=1,2', /3 hosts and 2 ports/],
      ['postgres://a:b:c/x', /is not a host/],
    ] as const)
      assert.throws(
        () => locationOf(url),
        (error) => error instanceof StoreError && problem.test(error.message) && !error.message.includes('secret'),
        url,
      );
  });

  it('throws only StoreError, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (rest) => {
        try {
          for (const { database } of locationsOf(`postgres://${rest}`)) assert.notEqual(database, '');
        } catch (error) {
          assert.ok(error instanceof StoreError);
        }
      }),
    );
  });
});
