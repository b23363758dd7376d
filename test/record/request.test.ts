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

const asked = (gib: number, slots = 1): MemoryRequest => ({
  request_bytes: gib * GIB,
  limit_bytes: gib * GIB * slots,
  per: 'slot',
});

describe('requestOf', () => {
  it('is the first in the usual order that limits or reserves memory', () => {
    const both = recordOf({ h_vmem: asked(8), requests: { mem_free: asked(4), virtual_free: asked(2) } });
    assert.deepEqual(requestOf(both), { complex: 'h_vmem', ...asked(8) });
    assert.deepEqual(requestOf({ ...both, h_vmem: null }), { complex: 'mem_free', ...asked(4) });
    assert.equal(requestOf(recordOf({})), null);
    assert.equal(requestOf(recordOf({ requests: { gpu_mem: asked(1) } })), null);
  });

  it('follows the order of the site, with names of its own', () => {
    const all = { h_vmem: asked(8), requests: { mem_free: asked(4), site_mem: asked(3) } };
    assert.equal(limitOf(recordOf({ ...all, request_order: 'site_mem,h_vmem' })), 3 * GIB);
    assert.equal(limitOf(recordOf({ ...all, request_order: 'mem_free' })), 4 * GIB);
    assert.equal(limitOf(recordOf({ ...all, request_order: 'constructor' })), null);
    assert.equal(complexOf(recordOf({ request_order: 'site_mem,h_vmem' })), 'site_mem');
    assert.equal(complexOf(recordOf({})), 'h_vmem');
  });

  it('takes what sets no limit only where nothing else does', () => {
    const none = { request_bytes: null, limit_bytes: null, per: 'slot' } as const;
    assert.equal(requestOf(recordOf({ h_vmem: none, requests: { mem_free: asked(4) } }))?.complex, 'mem_free');
    assert.deepEqual(requestOf(recordOf({ h_vmem: none })), { complex: 'h_vmem', ...none });
  });

  it('is what withLimit changes, and nothing else', () => {
    const both = recordOf({ h_vmem: asked(8), requests: { mem_free: asked(4) }, request_order: 'mem_free' });
    const changed = withLimit(both, GIB);
    assert.equal(limitOf(changed), GIB);
    assert.deepEqual(changed.h_vmem, both.h_vmem);
    assert.equal(withLimit(recordOf({}), GIB).h_vmem, null);
  });
});

describe('enforcedRequest', () => {
  it('says what enforces a complex: limits are, what is reserved is not', () => {
    const by = (fields: Partial<JobRecord>): readonly string[] | undefined =>
      enforcedRequest(recordOf(fields))?.enforced_by;
    assert.deepEqual(by({ h_vmem: asked(1) }), ['rlimit_as', 'execd']);
    assert.deepEqual(by({ requests: { s_vmem: asked(1) } }), ['rlimit_as', 'execd']);
    assert.deepEqual(by({ requests: { h_data: asked(1) } }), ['rlimit_data']);
    assert.deepEqual(by({ requests: { mem_free: asked(1) } }), []);
    assert.deepEqual(by({ requests: { mem_limit: asked(1) } }), ['cgroup']);
    const limited = { cgroup_memory_limit_bytes: GIB };
    assert.deepEqual(by({ requests: { m_mem_free: asked(1) }, metrics: limited }), ['cgroup']);
    assert.deepEqual(by({ requests: { m_mem_free: asked(2) }, metrics: limited }), []);
  });

  it('stands beside the fields in JSON', () => {
    const { request } = withDerived(recordOf({ requests: { mem_free: asked(4) } }));
    assert.deepEqual(request, { complex: 'mem_free', ...asked(4), enforced_by: [] });
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

  it('has the order of a queue, the usual one as null', () => {
    assert.equal(USUAL_RULES.orderText('all.q'), null);
    assert.equal(rules.orderText('all.q'), 'site_mem,h_vmem');
    assert.equal(rules.orderText('big.q'), 'mem_free');
    assert.equal(rules.orderText('odd.q'), 'site_mem,h_vmem');
    assert.equal(new RequestRules({ ...DEFAULT_SETTINGS, request_complex: [] }).orderText(null), null);
  });

  it("records a site's own complexes beside those that Grid Engine knows", () => {
    for (const complex of ['site_mem', 'mem_free', 's_vmem', 'h_rss']) assert.ok(rules.recorded.has(complex));
    assert.ok(!rules.recorded.has('gpu'));
    assert.deepEqual(
      ['site_mem', 'host_mem', 'h_vmem'].map((complex) => rules.per(complex)),
      ['job', 'host', 'slot'],
    );
  });
});

describe('a line of accounting that joins a record of ours', () => {
  const START = '2026-11-20T12:00:00.000Z';
  const ours = recordOf({ host_slots: 2, slots: 6, pe: 'mpi', started_at: START, owner: 'bob' });
  const line: JobRecord = {
    ...ours,
    run_id: 'accounting.1763640000000',
    trust: 'accounting',
    status: 'unsampled',
    host_slots: null,
    requests: { mem_free: asked(4, 6), mem_limit: { ...asked(9), per: 'job' } },
  };

  it('gives it what was requested for the slots of its host, whichever comes first', () => {
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
