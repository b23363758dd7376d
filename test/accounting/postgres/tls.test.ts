import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../../src/accounting/postgres/connect';
import { StoreError } from '../../../src/accounting/store-error';
import { packageRoot } from '../../../src/base/package-root';
import { noPostgres, startServer } from './server';
import type { Server } from './server';
import { freePort } from '../../support/server-program';
import { temporaryDirectory } from '../../support/temporary-directory';

function noTls(): string | false {
  return spawnSync('openssl', ['version']).status === 0 ? noPostgres : 'no openssl here';
}

const SYSTEM_CAS = '/etc/ssl/certs/ca-certificates.crt';
const noMounts =
  (process.getuid?.() !== 0 && 'only root can mount') ||
  (spawnSync('unshare', ['--mount', 'true']).status !== 0 && 'no mount namespaces here') ||
  (!existsSync(SYSTEM_CAS) && `no ${SYSTEM_CAS} here`);

/** Names of the server as if it were another host: one in its certificate, and one that is not. */
const NAME = 'db.site.example';
const OTHER = 'other.site.example';

/** A program that prints whether its connection to the URL is encrypted, or the error. */
const PROBE = `
const { connect } = require(process.argv[1]);
const db = connect(process.argv[2]);
db.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
  .then(([row]) => console.log(row.ssl), (error) => console.log(error.message))
  .finally(() => db.close());
`;

describe('TLS to PostgreSQL', { skip: noTls() }, () => {
  const directory = temporaryDirectory();
  const file = (name: string): string => join(directory, name);
  let server: Server;
  let port: number;

  const openssl = (...words: readonly string[]): void => {
    const made = spawnSync('openssl', words, { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'] as const;

  function authority(name: string): void {
    const subject = ['-subj', `/CN=${name}`, '-addext', 'basicConstraints=critical,CA:TRUE'];
    openssl(
      'req',
      '-x509',
      ...key,
      '-days',
      '2',
      ...subject,
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.pem`),
    );
  }

  /** Makes a certificate of the site's CA for these names and addresses. */
  function certificate(name: string, names: string): void {
    openssl('req', ...key, '-subj', `/CN=${name}`, '-keyout', file(`${name}.key`), '-out', file(`${name}.csr`));
    writeFileSync(file(`${name}.ext`), `subjectAltName=${names}\n`);
    const signer = ['-CA', file('site.pem'), '-CAkey', file('site.key'), '-CAcreateserial', '-days', '2'];
    const request = ['-in', file(`${name}.csr`), '-out', file(`${name}.pem`), '-extfile', file(`${name}.ext`)];
    openssl('x509', '-req', ...signer, ...request);
  }

  before(async () => {
    authority('site');
    authority('strange');
    certificate('server', `DNS:localhost,DNS:${NAME}`);
    writeFileSync(file('hosts'), `127.0.0.1 localhost ${NAME} ${OTHER}\n`);
    port = await freePort();
    server = await startServer({
      settings: ["listen_addresses = '127.0.0.1'", `port = ${port}`, 'ssl = on'],
      files: {
        'server.crt': readFileSync(file('server.pem'), 'utf8'),
        'server.key': readFileSync(file('server.key'), 'utf8'),
      },
      access: ['local all site_admin trust', 'hostssl all site_admin 127.0.0.1/32 trust'],
      port,
    });
  });
  after(async () => {
    await server.remove();
  });

  const encrypted = async (host: string, options: string): Promise<unknown> => {
    const db = connect(`postgres://site_admin@${host}:${port}/postgres?${options}`);
    try {
      const [row] = await db.query<{ ssl: boolean }>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
      return row?.ssl;
    } finally {
      await db.close();
    }
  };
  const ca = (name: string): string => `sslrootcert=${encodeURIComponent(file(`${name}.pem`))}`;
  /** Tests for an error that is permanent and names cause and fix in one line. */
  const refused =
    (reason: RegExp, hint: RegExp) =>
    (error: unknown): boolean =>
      error instanceof StoreError &&
      !error.retry &&
      !error.message.includes('\n') &&
      reason.test(error.reason) &&
      hint.test(error.hint);
  const byStranger = refused(/^no CA that this host trusts has signed its certificate/, /sslrootcert=/);
  const forOther = refused(/^its certificate is for another name .*altnames/, /as the certificate names it/);

  it('is used if the server offers it, and verified if requested', async () => {
    assert.equal(await encrypted('localhost', ''), true);
    assert.equal(await encrypted('127.0.0.1', 'sslmode=require'), true);
    assert.equal(await encrypted('localhost', `sslmode=verify-full&${ca('site')}`), true);
    assert.equal(await encrypted('localhost', ca('site')), true);
  });

  it('is refused with a certificate of an unknown CA, or for another name', async () => {
    await assert.rejects(encrypted('localhost', 'sslmode=verify-full'), byStranger);
    await assert.rejects(encrypted('localhost', ca('strange')), byStranger);
    await assert.rejects(encrypted('127.0.0.1', ca('site')), forOther);
  });

  it('needs a file with certificates', async () => {
    await assert.rejects(
      encrypted('localhost', ca('nowhere')),
      refused(/nowhere\.pem can't be read \(ENOENT\)/, /correct/),
    );
    writeFileSync(file('empty.pem'), 'nothing\n');
    await assert.rejects(encrypted('localhost', ca('empty')), refused(/empty\.pem holds no certificate/, /PEM/));
  });

  it('can not be left out if the server requires it', async () => {
    await assert.rejects(encrypted('localhost', 'sslmode=disable'), /denies this user access/);
  });

  it('is required with sslrootcert, even if the server has none', async () => {
    const plainPort = await freePort();
    const plain = await startServer({
      settings: ["listen_addresses = '127.0.0.1'", `port = ${plainPort}`],
      port: plainPort,
    });
    try {
      const db = connect(`postgres://site_admin@localhost:${plainPort}/postgres?${ca('site')}`);
      await assert.rejects(db.query('SELECT 1'), refused(/^it speaks no TLS/, /ssl = on .*sslmode=disable/));
      await db.close();
    } finally {
      await plain.remove();
    }
  });

  /** Output of PROBE where `host` is another host's name; `trusted`: the CA that the system trusts there. */
  function fromElsewhere(host: string, options: string, trusted: string | null): string {
    const script = [
      'mount --make-rprivate /',
      `mount --bind ${file('hosts')} /etc/hosts`,
      trusted === null ? 'true' : `mount --bind ${file(`${trusted}.pem`)} ${SYSTEM_CAS}`,
      'exec "$@"',
    ].join(' && ');
    const program = join(packageRoot(), 'dist', 'src', 'accounting', 'postgres', 'connect.js');
    const url = `postgres://site_admin@${host}:${port}/postgres${options}`;
    const words = ['--mount', 'sh', '-c', script, 'sh', process.execPath, '-e', PROBE, program, url];
    const { stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8', env: { PATH: process.env.PATH } });
    assert.equal(stderr, '');
    return stdout.trim();
  }

  it('is verified by default with another host', { skip: noMounts }, () => {
    assert.match(fromElsewhere(NAME, '', null), /: no CA that this host trusts has signed its certificate/);
    assert.equal(fromElsewhere(NAME, '', 'site'), 'true');
    assert.match(fromElsewhere(NAME, '', 'strange'), /: no CA that this host trusts/);
    assert.match(fromElsewhere(OTHER, '', 'site'), /: its certificate is for another name .*DNS:db\.site\.example/);
    assert.equal(fromElsewhere(NAME, `?${ca('site')}`, 'strange'), 'true');
    assert.equal(fromElsewhere(OTHER, '?sslmode=require', null), 'true');
  });
});
