import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterQueue, hostNames, hostOfQueue } from '../../src/gridengine/host-names';

describe('hostNames', () => {
  it('knows a host by its short and its long name, in any case', () => {
    const nameOf = hostNames(['node01.example.org', 'node02']);
    assert.deepEqual(['node01', 'NODE01', 'node01.example.org', 'node01.other', 'node02.example.org'].map(nameOf), [
      'node01.example.org',
      'node01.example.org',
      'node01.example.org',
      'node01.example.org',
      'node02',
    ]);
  });

  it('does not resolve a short name that two hosts share', () => {
    const nameOf = hostNames(['node01.a', 'node01.b']);
    assert.deepEqual(['node01', 'node01.a', 'node01.b', 'node01.c'].map(nameOf), [
      'node01',
      'node01.a',
      'node01.b',
      'node01.c',
    ]);
  });

  it('tells addresses apart', () => {
    const nameOf = hostNames(['10.0.0.1', 'fe80::1']);
    assert.deepEqual(['10.0.0.1', '10.0.0.2', 'fe80::2'].map(nameOf), ['10.0.0.1', '10.0.0.2', 'fe80::2']);
  });

  it('remembers a name that was not listed', () => {
    const nameOf = hostNames([]);
    assert.deepEqual(['new.example.org', 'new'].map(nameOf), ['new.example.org', 'new.example.org']);
  });
});

describe('hostOfQueue', () => {
  it('returns the text after the @, or null', () => {
    assert.deepEqual(['all.q@node01', 'all.q', '@n', 'all.q@', '', null].map(hostOfQueue), [
      'node01',
      null,
      'n',
      null,
      null,
      null,
    ]);
  });
});

describe('clusterQueue', () => {
  it('returns the text before the @', () => {
    assert.deepEqual(['all.q@node01', 'all.q', ''].map(clusterQueue), ['all.q', 'all.q', '']);
  });
});
