import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { proveKernelEvents, type KernelEventsProof } from '../../../src/sources/events/prove-kernel-events';
import { isUnavailable } from '../../../src/sources/source';
import { noKernelEvents } from '../../support/kernel-events';

describe('proveKernelEvents', { skip: noKernelEvents(null) ?? false }, () => {
  it('sees the fork, exec, exit and record of its own child', async () => {
    const proof = await proveKernelEvents(null);
    assert.deepEqual(proof.arrived, { fork: true, exec: true, exit: true, record: true });
    assert.deepEqual([proof.processEvents, proof.exitRecords], ['arrived', 'arrived']);
    assert.ok(proof.delayAccounting === 'on' || proof.delayAccounting.fix !== null);
  });

  it('names the fix in another network namespace', () => {
    const script = `require(process.argv[1]).proveKernelEvents(null).then((proof) => process.stdout.write(JSON.stringify(proof)))`;
    const modulePath = require.resolve('../../../src/sources/events/prove-kernel-events');
    const { status, stdout, stderr } = spawnSync('unshare', ['--net', process.execPath, '-e', script, modulePath], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    const proof = JSON.parse(stdout) as KernelEventsProof;
    assert.ok(isUnavailable(proof.exitRecords));
    assert.match(proof.exitRecords.fix ?? '', /initial_network_namespace/);
  });
});
