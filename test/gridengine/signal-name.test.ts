import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { signalName, signalOfExitStatus } from '../../src/gridengine/signal-name';

describe('signalName', () => {
  it('names signals by their common name', () => {
    assert.equal(signalName(9), 'SIGKILL');
    assert.equal(signalName(6), 'SIGABRT');
    assert.equal(signalName(29), 'SIGIO');
    assert.equal(signalName(31), 'SIGSYS');
    assert.equal(signalName(34), 'SIGRTMIN');
    assert.equal(signalName(35), 'SIGRTMIN+1');
  });

  it('has no name for no signal', () => {
    for (const number of [0, -1, 32, 33, 65, 1.5, NaN, 34.5]) assert.equal(signalName(number), null);
  });
});

describe('signalOfExitStatus', () => {
  it('reads 128 + signal', () => {
    assert.equal(signalOfExitStatus(137), 'SIGKILL');
    assert.equal(signalOfExitStatus(152), 'SIGXCPU');
    for (const status of [0, 1, 127, 128, 255]) assert.equal(signalOfExitStatus(status), null);
  });
});
