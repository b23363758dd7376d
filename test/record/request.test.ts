import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDerived } from '../../src/record/efficiency';
import { mergeAmong } from '../../src/record/match';
import { asStored } from '../../src/record/merge';
import type { JobRecord, MemoryRequest } from '../../src/record/record';
import { complexOf, enforcedRequest, limitOf, requestOf, withLimit } from '../../src/record/request';
import { RequestRules, USUAL_RULES } from '../../src/record/request-rules';
import { DEFAULT_SETTINGS } from '../../src/record/settings';
import { recordOf } from '../support/records';

const GIB = 2 ** 30;

const perSlot = (gib: number, slots = 1): MemoryRequest => ({
  request_bytes: gib * GIB,
  limit_bytes: gib * GIB * slots,
  per: 'slot',
});

describe('requestOf', () => {
  it('is the first request in the default order of complexes', () => {
    const both = recordOf({ h_vmem: perSlot(8), requests: { mem_free: perSlot(4), virtual_free: perSlot(2) } });
    assert.deepEqual(requestOf(both), { complex: 'h_vmem', ...perSlot(8) });
    assert.deepEqual(requestOf({ ...both, h_vmem: null }), { complex: 'mem_free', ...perSlot(4) });
    assert.equal(requestOf(recordOf({})), null);
    assert.equal(requestOf(recordOf({ requests: { gpu_mem: perSlot(1) } })), null);
  });

  it('follows the order of the site, which may name its own complexes', () => {
    const all = { h_vmem: perSlot(8), requests: { mem_free: perSlot(4), site_mem: perSlot(3) } };
    assert.equal(limitOf(recordOf({ ...all, request_order: 'site_mem,h_vmem' })), 3 * GIB);
    assert.equal(limitOf(recordOf({ ...all, request_order: 'mem_free' })), 4 * GIB);
    assert.equal(limitOf(recordOf({ ...all, request_order: 'constructor' })), null);
    assert.equal(complexOf(recordOf({ request_order: 'site_mem,h_vmem' })), 'site_mem');
    assert.equal(complexOf(recordOf({})), 'h_vmem');
    const reserving = 'h_vmem,s_vmem,h_data,mem_limit,virtual_free,h_rss,mem_free';
    assert.equal(complexOf(recordOf({ request_order: reserving })), 'virtual_free', 'nothing requested');
    assert.equal(complexOf(recordOf({ h_vmem: perSlot(8), request_order: reserving })), 'h_vmem');
    assert.equal(complexOf(recordOf({ request_order: 's_vmem,h_vmem' })), 's_vmem');
  });

  it('takes a request without an amount only if no other has one', () => {
    const none = { request_bytes: null, limit_bytes: null, per: 'slot' } as const;
    assert.equal(requestOf(recordOf({ h_vmem: none, requests: { mem_free: perSlot(4) } }))?.complex, 'mem_free');
    assert.deepEqual(requestOf(recordOf({ h_vmem: none })), { complex: 'h_vmem', ...none });
  });

  it('is the only request whose limit withLimit changes', () => {
    const both = recordOf({ h_vmem: perSlot(8), requests: { mem_free: perSlot(4) }, request_order: 'mem_free' });
    const changed = withLimit(both, GIB);
    assert.equal(limitOf(changed), GIB);
    assert.deepEqual(changed.h_vmem, both.h_vmem);
    assert.equal(withLimit(recordOf({}), GIB).h_vmem, null);
  });
});

describe('enforcedRequest', () => {
  it('says what enforces a limit; a mere reservation has no enforcer', () => {
    const by = (fields: Partial<JobRecord>): readonly string[] | undefined =>
      enforcedRequest(recordOf(fields))?.enforced_by;
    assert.deepEqual(by({ h_vmem: perSlot(1) }), ['rlimit_as', 'execd']);
    assert.deepEqual(by({ requests: { s_vmem: perSlot(1) } }), ['rlimit_as', 'execd']);
    assert.deepEqual(by({ requests: { h_data: perSlot(1) } }), ['rlimit_data']);
    assert.deepEqual(by({ requests: { mem_free: perSlot(1) } }), []);
    assert.deepEqual(by({ requests: { mem_limit: perSlot(1) } }), ['cgroup']);
    const limited = { cgroup_memory_limit_bytes: GIB };
    assert.deepEqual(by({ requests: { m_mem_free: perSlot(1) }, metrics: limited }), ['cgroup']);
    assert.deepEqual(by({ requests: { m_mem_free: perSlot(2) }, metrics: limited }), []);
  });

  it('is the field request in JSON', () => {
    const { request } = withDerived(recordOf({ requests: { mem_free: perSlot(4) } }));
    assert.deepEqual(request, { complex: 'mem_free', ...perSlot(4), enforced_by: [] });
  });
});

describe('RequestRules', () => {
  const rules = new RequestRules({
    ...DEFAULT_SETTINGS,
    request_complex: ['site_mem', 'h_vmem'],
    request_complex_by_queue: { 'big.q': ['mem_free'], 'odd.q': [] },
    job_complexes: ['site_mem'],
    host_complexes: ['host_mem'],
  });

  it('gives the order of a queue, and null for the default order', () => {
    assert.equal(USUAL_RULES.orderText('all.q'), null);
    assert.equal(rules.orderText('all.q'), 'site_mem,h_vmem');
    assert.equal(rules.orderText('big.q'), 'mem_free');
    assert.equal(rules.orderText('odd.q'), 'site_mem,h_vmem');
    assert.equal(new RequestRules({ ...DEFAULT_SETTINGS, request_complex: [] }).orderText(null), null);
  });

  it("records a site's own complexes beside those of Grid Engine", () => {
    for (const complex of ['site_mem', 'mem_free', 's_vmem', 'h_rss']) assert.ok(rules.recorded.has(complex));
    assert.ok(!rules.recorded.has('gpu'));
    assert.deepEqual(
      ['site_mem', 'host_mem', 'h_vmem'].map((complex) => rules.per(complex)),
      ['job', 'host', 'slot'],
    );
  });
});

describe('an accounting line that joins a record of ours', () => {
  const START = '2026-11-20T12:00:00.000Z';
  const ours = recordOf({ host_slots: 2, slots: 6, pe: 'mpi', started_at: START, owner: 'bob' });
  const line: JobRecord = {
    ...ours,
    run_id: 'accounting.1763640000000',
    trust: 'accounting',
    status: 'unsampled',
    host_slots: null,
    requests: { mem_free: perSlot(4, 6), mem_limit: { ...perSlot(9), per: 'job' } },
  };

  it('gives that record the request for the slots of its host, whichever comes first', () => {
    for (const [first, second] of [
      [ours, line],
      [line, ours],
    ] as const) {
      const merged = mergeAmong(second, [{ stored: asStored(first) }]);
      assert.ok(merged !== null && merged.base !== null);
      assert.equal(limitOf(merged.stored.record), 8 * GIB);
      assert.equal(merged.stored.record.requests.mem_limit?.limit_bytes, 9 * GIB);
    }
  });
});
