import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { memoryRequests, scaleRequest } from '../../src/gridengine/memory-request';
import { parseSpoolConfig, type SpoolConfig } from '../../src/gridengine/spool-config';
import { sampleConfig } from './spool-samples';

const gib = 1024 ** 3;

function config(changes: Readonly<Record<string, string | null>> = {}): SpoolConfig {
  const result = parseSpoolConfig(sampleConfig(changes));
  assert.ok(result.ok);
  return result.value;
}

describe('memoryRequests', () => {
  it('has the request of one slot where Open Cluster Scheduler writes that of all slots', () => {
    const sizes = (changes: Record<string, string>, first = 'usage_collection=3\n'): readonly number[] => {
      const values = { host_slots: '3', h_vmem: '2.051G', s_data: '2.051G2.637G', ...changes };
      const parsed = parseSpoolConfig(first + sampleConfig(values));
      assert.ok(parsed.ok);
      const found = memoryRequests(parsed.value, ['h_vmem', 's_data']);
      return found.flatMap(({ requestBytes, limitBytes }) =>
        [requestBytes, limitBytes].map((bytes) => Math.round((bytes ?? 0) / 1024 ** 2)),
      );
    };
    assert.deepEqual(sizes({}), [700, 2100, 900, 2700]);
    assert.deepEqual(sizes({ h_vmem: '700M', s_data: '900M' }), [700, 2100, 900, 2700]);
    assert.deepEqual(sizes({ pe: 'none' }).slice(0, 2), [2100, 6301]);
    assert.deepEqual(sizes({}, '').slice(0, 2), [2100, 6301], 'another Grid Engine');
  });

  it('multiplies a request per slot by the slots of this host', () => {
    assert.deepEqual(memoryRequests(config(), ['h_vmem']), [
      { complex: 'h_vmem', state: 'limited', requestBytes: gib, limitBytes: 2 * gib, per: 'slot' },
    ]);
  });

  it('does not multiply a request for a consumable of kind JOB', () => {
    const [request] = memoryRequests(config({ h_vmem_is_consumable_job: '1' }), ['h_vmem']);
    assert.equal(request?.limitBytes, gib);
    assert.equal(request.per, 'job');
  });

  it('has null bytes for INFINITY and for a size that Grid Engine cannot read', () => {
    const [unlimited] = memoryRequests(config({ h_vmem: 'INFINITY' }), ['h_vmem']);
    assert.deepEqual([unlimited?.state, unlimited?.requestBytes, unlimited?.limitBytes], ['unlimited', null, null]);
    const [unreadable] = memoryRequests(config({ h_vmem: '4GB' }), ['h_vmem']);
    assert.deepEqual([unreadable?.state, unreadable?.limitBytes], ['unreadable', null]);
  });

  it('keeps the order of the names and leaves out those that are no memory limits of config', () => {
    const found = memoryRequests(config({ s_vmem: '900M' }), [
      'mem_free',
      's_vmem',
      'h_cpu',
      'h_vmem',
      'job_owner',
      'h_rss',
    ]);
    assert.deepEqual(
      found.map((request) => request.complex),
      ['s_vmem', 'h_vmem', 'h_rss'],
    );
  });

  it('does not multiply mem_limit, as systemd gets it unmultiplied', () => {
    const [request] = memoryRequests(config({ qsub_gid: 'no\nuse_systemd=yes\nmem_limit=2G' }), ['mem_limit']);
    assert.deepEqual([request?.limitBytes, request?.per], [2 * gib, 'job']);
  });
});

describe('scaleRequest', () => {
  it('caps sizes at the largest safe integer', () => {
    const most = Number.MAX_SAFE_INTEGER;
    assert.equal(scaleRequest('h_vmem', { text: '7000T', per: 'slot' }, 2).limitBytes, most);
    const { requestBytes, limitBytes } = scaleRequest('h_vmem', { text: '9000000T', per: 'job' }, 2);
    assert.deepEqual([requestBytes, limitBytes], [most, most]);
  });

  it('scales to whole bytes, and does not read a negative size', () => {
    assert.equal(scaleRequest('mem_free', { text: '1.3333k', per: 'slot' }, 3).limitBytes, 3999);
    assert.equal(scaleRequest('mem_free', { text: '-1G', per: 'slot' }, 3).state, 'unreadable');
  });
});
