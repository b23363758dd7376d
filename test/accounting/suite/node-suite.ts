import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeStatus } from '../../../src/record/node-status';
import { HOUR, iso, T0 } from './fixture';
import type { OpenStore } from './fixture';

export function statusOf(host: string, changes: Partial<NodeStatus> = {}): NodeStatus {
  return {
    cluster: 'cell',
    host,
    version: '1.2.3',
    scope: 'job',
    disabled: false,
    listener: true,
    clock_synchronised: true,
    waiting: 0,
    waiting_since: null,
    refused: 0,
    last_job_at: null,
    failing_sources: [],
    ...changes,
  };
}

/** Heartbeats of hosts, the same in every store. */
export function nodeSuite(open: OpenStore): void {
  describe('nodes', () => {
    it('gives the last heartbeat of each host of each cluster', async (t) => {
      const store = await open(t);
      const before = Date.now();
      const late = statusOf('node2', {
        scope: 'node',
        disabled: true,
        listener: null,
        clock_synchronised: null,
        waiting: 7,
        waiting_since: iso(T0),
        refused: 2,
        last_job_at: iso(T0 + HOUR),
        failing_sources: [{ source: 'ipmi', reason: 'ipmitool: "no device"' }],
      });
      const quiet = statusOf('node1', { cluster: 'other', listener: false, clock_synchronised: false });
      for (const status of [statusOf('node2'), statusOf('node1'), quiet, late]) await store.saveHeartbeat(status);
      const found = await store.nodes({ since: 0 });
      const expected = [statusOf('node1'), late, quiet];
      assert.deepEqual(
        found,
        expected.map((status, index) => ({
          ...status,
          heartbeat_at: found[index]?.heartbeat_at,
          clock_offset_seconds: found[index]?.clock_offset_seconds,
        })),
      );
      for (const { heartbeat_at: heard, clock_offset_seconds: offset } of found) {
        assert.ok(Date.parse(heard) >= before && Date.parse(heard) <= Date.now(), heard);
        // Both clocks are this machine's; SQLite has none of its own.
        assert.ok(offset === null || Math.abs(offset) <= (Date.now() - before) / 1000, String(offset));
      }
    });

    it('leaves out hosts without a heartbeat since the given time', async (t) => {
      const store = await open(t);
      await store.saveHeartbeat(statusOf('node1'));
      const [{ heartbeat_at: heard } = assert.fail()] = await store.nodes({ since: 0 });
      assert.equal((await store.nodes({ since: Date.parse(heard) })).length, 1);
      assert.deepEqual(await store.nodes({ since: Date.parse(heard) + 1 }), []);
    });
  });
}
