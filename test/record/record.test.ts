import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { RECORD_LIMITS } from '../../src/record/fields';
import { parseRecord } from '../../src/record/record';
import { arbitraryRecord } from '../accounting/arbitrary-record';
import { bracketOf, recordOf } from '../support/records';

const PLAIN = recordOf();
const BRACKET = bracketOf(1, 2);

function errorOf(value: unknown): string | null {
  const parsed = parseRecord(value);
  return parsed.ok ? null : parsed.error;
}

describe('parseRecord', () => {
  it('returns a valid record unchanged, through JSON', () => {
    fc.assert(
      fc.property(arbitraryRecord(), (record) => {
        assert.deepEqual(parseRecord(JSON.parse(JSON.stringify(record))), { ok: true, value: record });
      }),
      { numRuns: 500 },
    );
  });

  it('never throws, and accepts its own result unchanged', () => {
    const value = fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withSparseArray: true });
    const mutated = fc
      .tuple(arbitraryRecord(), fc.constantFrom(...Object.keys(PLAIN)), fc.oneof(value, fc.json()))
      .map(([record, field, garbage]) => ({ ...record, [field]: garbage }));
    fc.assert(
      fc.property(fc.oneof(value, mutated), (garbage) => {
        const parsed = parseRecord(garbage);
        if (parsed.ok) assert.deepEqual(parseRecord(parsed.value), parsed);
        else assert.ok(parsed.error.length < 400, parsed.error);
      }),
      { numRuns: 3000 },
    );
  });

  it('refuses objects that throw when they are read', () => {
    const hostile = new Proxy({}, { get: () => assert.fail('boom'), has: () => assert.fail('boom') });
    assert.ok(errorOf({ ...PLAIN, h_vmem: hostile }));
    assert.ok(errorOf(new Proxy({}, { getOwnPropertyDescriptor: () => assert.fail('boom') })));
  });

  const refused: readonly [string, object, RegExp][] = [
    ['an owner that is not a string', { owner: 5 }, /^owner is not a string/],
    ['a string beyond 4 KiB', { job_name: 'ä'.repeat(2049) }, /^job_name is longer than 4096 bytes/],
    ['a cluster that no index takes', { cluster: 'ä'.repeat(257) }, /^cluster is longer than 512 bytes/],
    ['an empty part of the key', { host: '' }, /^host is empty/],
    ['a fraction for a count', { processes: 1.5 }, /^processes is not a whole number/],
    ['more slots than any job has', { host_slots: 10_000_001 }, /^host_slots is not a number of 0 to 10000000/],
    ['a negative size', { read_bytes: -1 }, /^read_bytes is not a number of 0/],
    ['NaN', { cpu_seconds: NaN }, /^cpu_seconds is not a number/],
    [
      'a figure beyond any sum',
      { metrics: { rapl_package_joules: 1e308 } },
      /^metrics.rapl_package_joules is not a numb/,
    ],
    ['infinity', { cpu_seconds: Infinity }, /^cpu_seconds is not a number/],
    ['an unknown status', { status: 'done' }, /^status is none of finished, running/],
    ['an unknown trust', { trust: 'god' }, /^trust is none of root/],
    ['a local time', { ended_at: '2026-11-01T00:00:00+01:00' }, /^ended_at is not an ISO 8601 UTC time/],
    ['30 February', { ended_at: '2026-02-30T00:00:00Z' }, /^ended_at is no/],
    [
      'an upper bound below the lower one',
      { peak_rss: { ...BRACKET, upper_bytes: 0 } },
      /^peak_rss has its upper end below/,
    ],
    ['an unknown reason', { peak_rss: { ...BRACKET, open: ['why not'] } }, /^peak_rss\.open\[0\] is none of/],
    ['too many notes', { notes: Array(RECORD_LIMITS.notes + 1).fill('x') }, /^notes has more than 64/],
    [
      'a series that is too long',
      { series: { start: '2026-11-01T00:00:00Z', step_seconds: 1, rss_bytes: Array(241).fill(0), others: {} } },
      /^series\.rss_bytes has more than 240/,
    ],
    ['a host without slots', { granted_hosts: [{ host: 'n1' }] }, /^granted_hosts\[0\].slots/],
    ['a host without a name', { granted_hosts: [{ host: '', slots: 1 }] }, /^granted_hosts\[0\].host is empty/],
    [
      'too many hosts',
      { granted_hosts: Array(4097).fill({ host: 'n', slots: 1 }) },
      /^granted_hosts has more than 4096/,
    ],
    ['a request with an invalid name', { requests: { 'a b': { request_bytes: 1 } } }, /^requests has a key/],
  ];
  for (const [title, fields, expected] of refused)
    it(`refuses ${title}`, () => assert.match(errorOf({ ...PLAIN, ...fields }) ?? 'accepted', expected));

  it('refuses a value that is not an object', () => {
    for (const value of [null, undefined, 5, 'x', [PLAIN]]) assert.match(errorOf(value) ?? '', /is not an object/);
  });

  it('sets absent fields to null and drops unknown fields', () => {
    const { cluster, job_id, host, run_id, status, trust, revision } = PLAIN;
    const given = { cluster, job_id, task_id: null, pe_task_id: null, host, run_id, status, trust, revision };
    assert.deepEqual(parseRecord({ ...given, colour: 'red' }), { ok: true, value: PLAIN });
  });

  it('brings times, sets, zeros and strings into their normal form', () => {
    const parsed = parseRecord({
      ...PLAIN,
      ended_at: '2026-11-01T00:00:00Z',
      cpu_seconds: -0,
      owner: 'b\ud800b',
      peak_rss: { ...BRACKET, sources: ['mark', 'sample', 'mark'] },
    });
    assert.ok(parsed.ok);
    const { ended_at, cpu_seconds, owner, peak_rss } = parsed.value;
    assert.equal(ended_at, '2026-11-01T00:00:00.000Z');
    assert.ok(Object.is(cpu_seconds, 0));
    assert.equal(owner, 'b\ufffdb');
    assert.deepEqual(peak_rss?.sources, ['sample', 'mark']);
  });

  it('reads no field from a prototype', () => {
    const rest = Object.fromEntries(Object.entries(PLAIN).filter(([field]) => field !== 'owner'));
    const parsed = parseRecord(JSON.parse(JSON.stringify(rest).replace('{', '{"__proto__":{"owner":"root"},')));
    assert.equal(parsed.ok ? parsed.value.owner : parsed.error, null);
  });
});
