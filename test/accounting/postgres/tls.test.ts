import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../../src/accounting/postgres/connect';
import { StoreError } from '../../../src/accounting/store-error';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

function noTls(): string | false {
  return spawnSync('openssl', ['version']).status === 0 ? noPostgres : 'no openssl here';
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

describe('TLS to PostgreSQL', { skip: noTls() }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-tls-'));
  let server: Server;
  let port: number;

  /** A certificate that signs itself, for a name and 127.0.0.1. */
  function certificate(name: string): string {
    const file = join(directory, name);
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...[...subject, '-keyout', `${file}.key`, '-out', `${file}.pem`],
    ]);
    assert.equal(made.status, 0, String(made.stderr));
    return file;
  }

  before(async () => {
    const [own] = ['localhost', 'elsewhere'].map(certificate);
    port = await freePort();
    const text = (file: string): string => readFileSync(file, 'utf8');
    server = await startServer({
      settings: ["listen_addresses = '127.0.0.1'", `port = ${port}`, 'ssl = on'],
      files: { 'server.crt': text(`${own ?? ''}.pem`), 'server.key': text(`${own ?? ''}.key`) },
      access: ['local all site_admin trust', 'hostssl all site_admin 127.0.0.1/32 trust'],
      port,
    });
  });
  after(async () => {
    await server.remove();
    rmSync(directory, { recursive: true, force: true });
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
  const cert = (name: string): string => encodeURIComponent(join(directory, `${name}.pem`));

  it('is used where the server has it, and verified where that is asked for', async () => {
    assert.equal(await encrypted('localhost', 'sslmode=prefer'), true);
    assert.equal(await encrypted('127.0.0.1', 'sslmode=require'), true);
    assert.equal(await encrypted('localhost', `sslmode=verify-full&sslrootcert=${cert('localhost')}`), true);
  });

  it('is refused with a certificate that nobody vouches for, or of another host', async () => {
    const refusal = (error: unknown): boolean =>
      error instanceof StoreError && error.reason.includes("certificate can't be verified") && !error.retry;
    await assert.rejects(encrypted('localhost', 'sslmode=verify-full'), refusal);
    await assert.rejects(encrypted('localhost', `sslmode=verify-full&sslrootcert=${cert('elsewhere')}`), refusal);
    await assert.rejects(encrypted('127.0.0.1', `sslmode=verify-full&sslrootcert=${cert('localhost')}`), refusal);
  });

  it('is not done without where the server wants it', async () => {
    await assert.rejects(encrypted('localhost', 'sslmode=disable'), /does not let this user in/);
  });
});
