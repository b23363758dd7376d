import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { network, parseNetDev } from '../../../src/sources/node/network';
import { countUnixSockets, parseSockstat, parseTcpCounters, sockets } from '../../../src/sources/node/sockets';
import { countTcpStates, tcpstates } from '../../../src/sources/node/tcpstates';
import { isUnavailable, THIS_MACHINE } from '../../../src/sources/source';
import { garbage } from '../proc/fixtures';
import { assertReadings, layoutRoot, layoutText, placeAt, readIn, table, whyNotIn } from './layouts';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('network', () => {
  it('reads counters and links of CentOS 7', () => {
    assertReadings(readIn('linux-3.10', network), {
      'network_received_bytes{em1}': 98765432109,
      'network_received_packets{em1}': 87654321,
      'network_received_errors{em1}': 3,
      'network_received_dropped{em1}': 17,
      'network_sent_bytes{em1}': 12345678901,
      'network_sent_packets{em1}': 76543210,
      'network_sent_errors{em1}': 2,
      'network_sent_dropped{em1}': 5,
      'network_speed_bits_per_second{em1}': 1e9,
      'network_mtu_bytes{em1}': 1500,
      'network_up{em1}': 1,
      'network_full_duplex{em1}': 1,
      // Down: neither carrier nor speed can be read.
      'network_up{em2}': 0,
      'network_speed_bits_per_second{em2}': undefined,
      // InfiniBand shows no speed here.
      'network_speed_bits_per_second{ib0}': undefined,
      'network_full_duplex{ib0}': undefined,
      'network_up{ib0}': 1,
      'network_received_bytes{lo}': 123456789,
      'network_received_bytes{virbr0}': undefined,
    });
  });

  it('reads 200 Gbit/s, and a virtual interface without a speed', () => {
    assert.equal(readIn('linux-6.1-arm64', network)['network_speed_bits_per_second{end0}'], 200e9);
    const found = readIn('linux-6.18', network);
    assert.equal('network_speed_bits_per_second{eth0}' in found, false);
    assert.equal('network_received_bytes{ifb0}' in found, false);
    assert.equal('network_received_bytes{ifb0}' in readIn('linux-6.18', network, { options: { left_out: [] } }), true);
  });

  it('reads the state of links once a minute, or when interfaces come and go', () => {
    const root = temporaryDirectory();

    cpSync(layoutRoot('linux-3.10'), root, { recursive: true });
    let now = 5;
    const open = network.open(placeAt(root, network, { now: () => now }));
    assert.ok(!isUnavailable(open));
    const up = () => table(open.read())['network_up{em1}'];
    writeFileSync(join(root, 'sys/class/net/em1/carrier'), '0\n');
    assert.equal(up(), 1);
    now += 60_000;
    assert.equal(up(), 0);
    writeFileSync(join(root, 'sys/class/net/em1/carrier'), '1\n');
    const lines = layoutText('linux-3.10', 'proc/net/dev');
    writeFileSync(join(root, 'proc/net/dev'), lines.replace(/^ *ib0.*\n/m, ''));
    const found = table(open.read());
    assert.equal(found['network_up{em1}'], 1);
    assert.equal(
      Object.keys(found).some((key) => key.endsWith('{ib0}')),
      false,
    );
  });

  it('parses lines of old kernels and aliases, but no name that leaves a directory', () => {
    const line = (name: string) => `${name}:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n`;
    const [first] = parseNetDev(line('eth0'));
    assert.deepEqual(first, {
      name: 'eth0',
      receivedBytes: 1,
      receivedPackets: 2,
      receivedErrors: 3,
      receivedDropped: 4,
      sentBytes: 9,
      sentPackets: 10,
      sentErrors: 11,
      sentDropped: 12,
    });
    assert.equal(parseNetDev(line('  eth0:1'))[0]?.name, 'eth0:1');
    for (const name of ['..', '.', '', 'a/b', 'a b', 'x'.repeat(16)]) assert.deepEqual(parseNetDev(line(name)), []);
    assert.deepEqual(parseNetDev('eth0: 1 2 3 4 5 6 7 8 9 10 11\n'), []);
  });
});

describe('sockets', () => {
  it('reads CentOS 7', () => {
    assert.deepEqual(readIn('linux-3.10', sockets), {
      sockets_used: 812,
      sockets_tcp: 45,
      sockets_tcp_orphan: 1,
      sockets_tcp_time_wait: 7,
      sockets_tcp_allocated: 60,
      sockets_tcp_memory_bytes: 9 * 4096,
      sockets_tcp6: 6,
      sockets_udp: 14,
      sockets_udp_memory_bytes: 3 * 4096,
      sockets_udp6: 8,
      sockets_raw: 1,
      sockets_raw6: 0,
      sockets_tcp_established: 38,
      sockets_tcp_retransmitted: 4321,
      sockets_unix: 3,
    });
  });

  it('counts memory in pages of 64 KiB, and needs no IPv6', () => {
    const found = readIn('linux-6.1-arm64', sockets);
    assertReadings(found, { sockets_tcp_memory_bytes: 4 * 65536, sockets_tcp6: undefined, sockets_unix: undefined });
  });
});

describe('tcpstates', () => {
  it('counts states over IPv4 and IPv6', () => {
    const found = readIn('linux-3.10', tcpstates);
    assertReadings(found, {
      'tcpstates_sockets{established}': 3,
      'tcpstates_sockets{listen}': 3,
      'tcpstates_sockets{close_wait}': 1,
      'tcpstates_sockets{time_wait}': 1,
      'tcpstates_sockets{syn_sent}': 0,
    });
    assert.equal(Object.keys(found).length, 12);
    assert.equal(readIn('linux-6.18', tcpstates)['tcpstates_sockets{listen}'], 1);
    assert.match(whyNotIn('linux-6.1-arm64', tcpstates).unavailable, /^no .*\/net\/tcp$/);
  });

  it('counts a socket that listens on this machine', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const open = tcpstates.open({ ...THIS_MACHINE, options: {} });
      assert.ok(!isUnavailable(open));
      assert.ok((table(open.read())['tcpstates_sockets{listen}'] ?? 0) >= 1);
    } finally {
      server.close();
    }
  });
});

describe('parsers of network files', () => {
  it('yield finite figures, none negative, from garbage', () => {
    const texts = ['dev', 'sockstat', 'snmp', 'tcp', 'tcp6', 'unix'].map((name) =>
      Buffer.from(layoutText('linux-3.10', `proc/net/${name}`)),
    );
    fc.assert(
      fc.property(garbage(...texts), (bytes) => {
        const text = bytes.toString('utf8');
        for (const { name, ...numbers } of parseNetDev(text)) {
          assert.ok(name.length > 0);
          for (const value of Object.values(numbers)) assert.ok(Number.isFinite(value) && value >= 0);
        }
        for (const values of [parseSockstat(text, 4096), parseTcpCounters(text), countTcpStates(text)])
          for (const value of values.values()) assert.ok(Number.isFinite(value) && value >= 0);
        assert.ok(countUnixSockets(text) >= 0);
      }),
    );
  });
});
