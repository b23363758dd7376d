import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { isCurrent, takesGzip } from '../../../src/server/http/send';
import { ask, sharedSite } from '../test-site';

describe('takesGzip', () => {
  it('follows RFC 9110', () => {
    for (const yes of ['gzip', 'deflate, gzip', 'GZIP;q=0.5', '*', 'br;q=1.0, gzip;q=0.8, *;q=0.1', '*;q=0, gzip'])
      assert.equal(takesGzip(yes), true, yes);
    for (const no of [
      undefined,
      '',
      'identity',
      'gzip;q=0',
      'gzip; q=0.000',
      'x-gzip',
      'br',
      'gzip;q=0,*',
      '*, gzip;q=0',
    ])
      assert.equal(takesGzip(no), false, no);
  });
});

describe('isCurrent', () => {
  it('compares weakly', () => {
    for (const yes of ['W/"a"', '"a"', '"b", W/"a"', '*']) assert.equal(isCurrent(yes, 'W/"a"'), true, yes);
    for (const no of [undefined, '', '"b"', 'a', 'W/"aa"']) assert.equal(isCurrent(no, 'W/"a"'), false, no);
  });
});

describe('an answer', () => {
  const defaultSite = sharedSite();

  it('may be cached until the next poll, by its caller only', async () => {
    const site = await defaultSite();
    const { headers } = await site.get('/v1/live');
    assert.equal(headers['cache-control'], 'private, max-age=5');
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.match(headers.vary ?? '', /Authorization/);
    assert.equal(headers['access-control-allow-origin'], undefined);
  });

  it('is not sent again to a client that has it, and changes its tag with its content', async () => {
    const site = await defaultSite();
    const first = await site.get('/qhost');
    const etag = first.headers.etag ?? '';
    const again = await site.get('/qhost', { 'If-None-Match': etag });
    assert.deepEqual([again.status, again.bytes.length, again.headers.etag], [304, 0, etag]);
    const other = await site.get('/qstat', { 'If-None-Match': etag });
    assert.equal(other.status, 200);
    assert.notEqual(other.headers.etag, etag);
  });

  it('has the same headers without a body for HEAD', async () => {
    const site = await defaultSite();
    const whole = await site.get('/qhost');
    const head = await ask({ port: site.port }, { path: '/qhost', method: 'HEAD' });
    assert.equal(head.bytes.length, 0);
    assert.deepEqual({ ...head.headers, date: '' }, { ...whole.headers, date: '' });
  });

  it('is compressed for clients that accept it, if it is large', async () => {
    const site = await defaultSite();
    const plain = await site.get('/v1/live');
    const packed = await site.get('/v1/live', { 'Accept-Encoding': 'gzip' });
    assert.equal(packed.headers['content-encoding'], 'gzip');
    assert.ok(packed.bytes.length < plain.bytes.length / 2);
    assert.deepEqual(gunzipSync(packed.bytes), plain.bytes);
    assert.equal(packed.headers.etag, plain.headers.etag);
    const small = await site.get('/v1/health', { 'Accept-Encoding': 'gzip' });
    assert.equal(small.headers['content-encoding'], undefined);
  });

  it('is the same for all callers who see the same', async () => {
    const site = await defaultSite();
    const bodies = await Promise.all(Array.from({ length: 20 }, () => site.get('/v1/hosts')));
    assert.equal(new Set(bodies.map(({ text }) => text)).size, 1);
  });
});
