import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { MOST_HOSTS, parsePeHostfile } from '../../src/gridengine/pe-hostfile';

describe('parsePeHostfile', () => {
  it('reads hosts and slots, whatever the fourth column says', () => {
    const text = [
      'node01.cluster 4 all.q@node01.cluster UNDEFINED',
      'node02.cluster 2 all.q@node02.cluster <NULL>',
      'node03.cluster 16 long.q@node03.cluster 0,0:0,1',
      'node04 1 all.q@node04',
      '',
    ].join('\n');
    assert.deepEqual(parsePeHostfile(text), [
      { host: 'node01.cluster', slots: 4 },
      { host: 'node02.cluster', slots: 2 },
      { host: 'node03.cluster', slots: 16 },
      { host: 'node04', slots: 1 },
    ]);
  });

  it('adds the slots of several queues on one host', () => {
    const text = 'node01 4 all.q@node01 UNDEFINED\nnode02 1 all.q@node02 UNDEFINED\nnode01 2 long.q@node01 UNDEFINED\n';
    assert.deepEqual(parsePeHostfile(text), [
      { host: 'node01', slots: 6 },
      { host: 'node02', slots: 1 },
    ]);
  });

  it('leaves out lines without a host name and a number of slots', () => {
    assert.equal(parsePeHostfile(''), null);
    assert.equal(parsePeHostfile('# a comment\nnode01\nnode01 none all.q\nnode01 0 all.q\nnode01 -3 all.q\n'), null);
    assert.deepEqual(parsePeHostfile('a\u001b[31mb 4 q\n__proto__ 3 q\nnode01 4\r\n../x 1 q\nnode02 3 q'), [
      { host: 'node01', slots: 4 },
      { host: 'node02', slots: 3 },
    ]);
  });

  it('keeps at most MOST_HOSTS hosts', () => {
    const lines = Array.from({ length: MOST_HOSTS + 10 }, (_, index) => `n${index} 2 q@n${index} UNDEFINED`);
    const hosts = parsePeHostfile([...lines, 'n0 1 long.q@n0 UNDEFINED'].join('\n'));
    assert.equal(hosts?.length, MOST_HOSTS);
    assert.deepEqual(hosts[0], { host: 'n0', slots: 3 });
  });

  it('returns each host once, with a valid name and positive slots, for any text', () => {
    const word = fc.oneof(fc.constantFrom('node01', '4', ' ', '\n', '\t', '999999999', '0x4'), fc.string());
    fc.assert(
      fc.property(fc.array(word, { maxLength: 60 }), (words) => {
        const hosts = parsePeHostfile(words.join(''));
        if (hosts === null) return;
        assert.ok(hosts.length > 0);
        assert.equal(new Set(hosts.map(({ host }) => host)).size, hosts.length);
        for (const { host, slots } of hosts) {
          assert.match(host, /^[\w.-]+$/);
          assert.ok(Number.isSafeInteger(slots) && slots >= 1);
        }
      }),
    );
  });

  it('reads back every file that execd can write', () => {
    const host = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}(\.[a-z]{1,5}){0,2}$/);
    const entry = fc.record({ host, slots: fc.integer({ min: 1, max: 1024 }) });
    fc.assert(
      fc.property(fc.uniqueArray(entry, { minLength: 1, maxLength: 40, selector: (one) => one.host }), (entries) => {
        const text = entries.map((one) => `${one.host} ${one.slots} all.q@${one.host} UNDEFINED\n`).join('');
        assert.deepEqual(
          parsePeHostfile(text),
          entries.map(({ host, slots }) => ({ host, slots })),
        );
      }),
    );
  });
});
