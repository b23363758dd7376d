import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { LibcError } from '../../src/native/libc';
import { enterNetworkNamespace } from '../../src/native/namespace';
import { openNetlink, type NetlinkSocket } from '../../src/native/netlink';

const NETLINK_ROUTE = 0;
const RTM_GETLINK = 18;
const NLM_F_REQUEST = 1;
const NLM_F_ACK = 4;
const NLM_F_DUMP = 0x300;
const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;

/** A request that only asks to be acknowledged: the kernel does so even for a message type that it doesn't serve. */
function request(type: number, flags: number, sequence: number): Buffer {
  const message = Buffer.alloc(32);
  message.writeUInt32LE(message.length, 0);
  message.writeUInt16LE(type, 4);
  message.writeUInt16LE(NLM_F_REQUEST | flags, 6);
  message.writeUInt32LE(sequence, 8);
  return message;
}

const NOOP = 1;

const MIB = 1024 * 1024;

function opened(t: TestContext, receiveBytes = 16 * MIB): NetlinkSocket {
  const socket = openNetlink({ protocol: NETLINK_ROUTE, groups: 0, receiveBytes });
  t.after(socket.close);
  return socket;
}

/** Types and numbers of the messages that were queued. */
function drained(socket: NetlinkSocket): { readonly messages: (readonly [number, number])[]; readonly lost: boolean } {
  const messages: (readonly [number, number])[] = [];
  const { lost } = socket.drain((buffer, offset, length) => {
    assert.ok(length >= 16 && offset + length <= buffer.length);
    messages.push([buffer.readUInt16LE(offset + 4), buffer.readUInt32LE(offset + 8)]);
  });
  return { messages, lost };
}

const CAPABILITIES = { CAP_NET_ADMIN: 12n, CAP_SYS_ADMIN: 21n } as const;

/** Why a test that needs this capability can't run here; false: it can. */
function without(name: keyof typeof CAPABILITIES): string | false {
  const held = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return ((BigInt(`0x${held}`) >> CAPABILITIES[name]) & 1n) === 1n ? false : `no ${name}`;
}

/** Number of open sockets of this process. */
const sockets = (): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;

describe('openNetlink', () => {
  it('opens a socket that has no message at first and does not wait for one', (t) => {
    assert.deepEqual(drained(opened(t)), { messages: [], lost: false });
  });

  it('hands over answers in order, also more than one call takes', (t) => {
    const socket = opened(t);
    const numbers = Array.from({ length: 100 }, (_, index) => index + 1);
    for (const number of numbers) socket.send(request(NOOP, NLM_F_ACK, number));
    const { messages, lost } = drained(socket);
    assert.equal(lost, false);
    assert.deepEqual(
      messages,
      numbers.map((number) => [NLMSG_ERROR, number]),
    );
    assert.deepEqual(drained(socket).messages, []);
  });

  it('splits a datagram of several messages', (t) => {
    const socket = opened(t);
    const dump = request(RTM_GETLINK, NLM_F_DUMP, 5);
    socket.send(dump);
    const { messages } = drained(socket);
    assert.deepEqual(messages.at(-1), [NLMSG_DONE, 5]);
    assert.ok(messages.length >= 2 && messages.every(([, number]) => number === 5));
  });

  it('reports what a small buffer lost, hands over the rest, and recovers', (t) => {
    const socket = opened(t, 1);
    assert.ok(socket.receiveBytes < 65536);
    for (let number = 1; number <= 200; number++) socket.send(request(NOOP, NLM_F_ACK, number));
    const { messages, lost } = drained(socket);
    assert.equal(lost, true);
    assert.ok(messages.length > 0 && messages.length < 200);
    socket.send(request(NOOP, NLM_F_ACK, 201));
    assert.deepEqual(drained(socket), { messages: [[NLMSG_ERROR, 201]], lost: false });
  });

  it('gives the socket a buffer of the requested size', { skip: without('CAP_NET_ADMIN') }, (t) => {
    assert.equal(opened(t, 8 * MIB).receiveBytes, 16 * MIB);
    assert.equal(opened(t, 16 * MIB).receiveBytes, 32 * MIB);
  });

  it('gives the socket the largest buffer that an unprivileged process may have', () => {
    const script = `
      const socket = require(process.argv[1]).openNetlink({ protocol: 0, groups: 0, receiveBytes: ${16 * MIB} });
      process.stdout.write(String(socket.receiveBytes));`;
    const drop = ['--bounding-set', '-net_admin', '--inh-caps', '-net_admin'];
    const [command, before] = process.getuid?.() === 0 ? ['setpriv', drop] : ['env', []];
    const words = [...before, process.execPath, '-e', script, require.resolve('../../src/native/netlink')];
    const { stdout, stderr } = spawnSync(command, words, { encoding: 'utf8' });
    const most = Number(readFileSync('/proc/sys/net/core/rmem_max', 'utf8'));
    assert.equal(Number(stdout), 2 * Math.min(most, 16 * MIB), stderr);
  });

  it('throws for an unknown protocol and leaves no socket open', () => {
    const before = sockets();
    assert.throws(() => openNetlink({ protocol: 31, groups: 0, receiveBytes: MIB }), LibcError);
    assert.equal(sockets(), before);
  });

  it('opens a socket that can be closed twice and has no message after that', () => {
    const before = sockets();
    const socket = openNetlink({ protocol: NETLINK_ROUTE, groups: 0, receiveBytes: MIB });
    assert.equal(sockets(), before + 1);
    socket.close();
    socket.close();
    assert.equal(sockets(), before);
    assert.deepEqual(drained(socket), { messages: [], lost: false });
  });

  it('opens a socket that drops messages of other processes', (t) => {
    const socket = opened(t);
    const forged = `
      import socket, struct, sys
      s = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 0)
      s.sendto(struct.pack("IHHII", 16, 3, 0, 7, 0), (int(sys.argv[1]), 0))`;
    // The first netlink socket of a process has its pid as port, unless that is taken.
    const { status, stderr } = spawnSync('python3', ['-c', forged.replaceAll('\n      ', '\n'), String(process.pid)]);
    if (status !== 0) {
      t.skip(`no forged message could be sent: ${String(stderr).trim().split('\n').at(-1) ?? ''}`);
      return;
    }
    assert.deepEqual(drained(socket), { messages: [], lost: false });
  });
});

describe('enterNetworkNamespace', () => {
  it('accepts the namespace in which the process already is', () => {
    enterNetworkNamespace('/proc/self/ns/net')();
  });

  it('throws for a path that is not a network namespace', () => {
    assert.throws(() => enterNetworkNamespace('/nonexistent'), /ENOENT/);
    assert.throws(() => enterNetworkNamespace('/proc/self/status'), LibcError);
  });

  it('enters the namespace and leaves it again', { skip: without('CAP_SYS_ADMIN') }, () => {
    const script = `
      const { enterNetworkNamespace } = require(process.argv[1]);
      const own = () => require('node:fs').readlinkSync('/proc/self/ns/net');
      const places = [own()];
      const leave = enterNetworkNamespace(process.argv[2]);
      places.push(own());
      leave();
      places.push(own());
      process.stdout.write(JSON.stringify(places));`;
    const words = ['--net', process.execPath, '-e', script, require.resolve('../../src/native/namespace')];
    const { status, stdout, stderr } = spawnSync('unshare', [...words, `/proc/${process.pid}/ns/net`], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    const [before, there, after] = JSON.parse(stdout) as string[];
    assert.equal(there, readlinkSync('/proc/self/ns/net'));
    assert.equal(after, before);
    assert.notEqual(there, before);
  });
});
