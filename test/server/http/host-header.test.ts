import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostAddress, hostHeaderCheck, plainHost } from '../../../src/server/http/host-header';
import { ask, startTestSite } from '../test-site';

const getent = (program: string, words: readonly string[]): Promise<string | null> => {
  assert.deepEqual([program, ...words], ['/usr/bin/getent', 'hosts', '--', 'node01']);
  return Promise.resolve('192.0.2.7       node01.cluster.example node01 alias01\n');
};

describe('hostHeaderCheck', () => {
  const isOwnName = hostHeaderCheck(['10.0.0.1', 'Jobs.Example.org'], 'node01', getent);

  it("accepts loopback, the connection's address, the given names, and this machine’s names", async () => {
    const known = [
      ...['localhost', 'localhost:8080', 'LOCALHOST', '127.0.0.1:8080', '127.9.9.9', '[::1]:8080', '[::1]'],
      ...['192.0.2.7:8080', '10.0.0.1', 'jobs.example.org:443', 'jobs.example.org.'],
      ...['node01', 'node01:8080', 'Node01.cluster.example', 'alias01'],
    ];
    for (const host of known) assert.equal(await isOwnName(host, '192.0.2.7'), true, host);
    assert.equal(await isOwnName('192.0.2.7', '::ffff:192.0.2.7'), true);
    assert.equal(await isOwnName('[fe80::1]', 'fe80::1%eth0'), true);
    assert.equal(await isOwnName('[2001:DB8:0::1]:80', '2001:db8::1'), true);
  });

  it('accepts no other name', async () => {
    const unknown = [
      ...['evil.example', 'node01.evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '192.0.2.8'],
      ...['', ':80', 'a b', 'x/y', 'localhost:x', '[::2]', '[::1', 'user@localhost', '2130706433', '0.0.0.0'],
    ];
    for (const host of unknown) assert.equal(await isOwnName(host, '192.0.2.7'), false, host);
  });

  it('works without a name service', async () => {
    const alone = hostHeaderCheck([], 'node01', () => Promise.resolve(null));
    assert.equal(await alone('node01', '192.0.2.7'), true);
    assert.equal(await alone('node01.cluster.example', '192.0.2.7'), false);
  });
});

describe('plainHost', () => {
  it('has one form for each address', () => {
    assert.equal(plainHost('fe80::1%eth0'), plainHost('[fe80::1%eth0]:80'));
    const forms = [plainHost('[0:0:0:0:0:0:0:1]:80'), plainHost('::1'), plainHost('FOO.example.:80')];
    assert.deepEqual(forms, ['::1', '::1', 'foo.example']);
  });
});

describe('hostAddress', () => {
  it('is the same for all addresses that one host may choose from', () => {
    assert.equal(hostAddress('192.0.2.1'), '192.0.2.1');
    assert.equal(hostAddress('::ffff:192.0.2.1'), '192.0.2.1');
    assert.equal(hostAddress('2001:db8:1:2:3:4:5:6'), hostAddress('2001:db8:1:2::9'));
    assert.notEqual(hostAddress('2001:db8:1:2::1'), hostAddress('2001:db8:1:3::1'));
    assert.equal(hostAddress('fe80::1%eth0'), 'fe80:0:0:0');
    for (const loopback of ['127.0.0.1', '127.0.0.2', '127.1.2.3', '::1', '::ffff:127.0.0.9'])
      assert.equal(hostAddress(loopback), 'localhost');
    assert.equal(hostAddress(''), '');
  });
});

describe('a request under a name that is not this host’s', () => {
  it('is refused over HTTP, unless the site has added the name', async (t) => {
    const site = await startTestSite(t, { settings: { serve_hosts: ['jobs.example.org'] } });
    const refused = await site.get('/qhost', { Host: 'evil.example' });
    assert.equal(refused.status, 421);
    assert.match(refused.text, /does not go by the name \\"evil\.example\\"; ask by .* serve_hosts"\}\n$/);
    assert.equal(refused.text.split('\n').length, 2);
    for (const host of ['jobs.example.org', 'localhost:1', `127.0.0.1:${site.port}`])
      assert.equal((await site.get('/qhost', { Host: host })).status, 200, host);
    // A request as to a proxy names the host in its address, which counts more than the header.
    const asToProxy = async (named: string, header: string): Promise<number> =>
      (await site.get(`http://${named}/qhost`, { Host: header })).status;
    assert.equal(await asToProxy('jobs.example.org', 'evil.example'), 200);
    assert.equal(await asToProxy('evil.example', 'localhost'), 421);
    const bySocket = await ask({ socketPath: site.socket }, { path: '/qhost', headers: { Host: 'evil.example' } });
    assert.equal(bySocket.status, 200);
  });
});
