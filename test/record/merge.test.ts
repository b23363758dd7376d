import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { NOT_SEEN } from '../../src/record/coverage';
import { asStored, mergeRecords, partsOf } from '../../src/record/merge';
import type { StoredRecord } from '../../src/record/merge';
import { parseRecord, type JobRecord, type RecordStatus, type Trust } from '../../src/record/record';
import { arbitraryRecord } from '../accounting/arbitrary-record';
import { bracketOf, recordOf } from '../support/records';

function account(trust: Trust, status: RecordStatus, revision: number, fields: Partial<JobRecord> = {}): StoredRecord {
  return asStored(recordOf({ status, trust, revision, ...fields }));
}

/** Merges two records, in both orders, which must not matter. */
function merged(a: StoredRecord, b: StoredRecord): StoredRecord {
  const result = mergeRecords(a, b);
  assert.deepEqual(mergeRecords(b, a), result);
  return result;
}

describe('mergeRecords: laws', () => {
  const stored = arbitraryRecord({ keys: 1 }).map(asStored);

  it('is idempotent: the same record again changes nothing', () => {
    fc.assert(
      fc.property(stored, stored, (a, b) => {
        const ab = mergeRecords(a, b);
        assert.equal(mergeRecords(ab, b), ab);
        assert.equal(mergeRecords(ab, a), ab);
        assert.equal(mergeRecords(ab, ab), ab);
      }),
      { numRuns: 500 },
    );
  });

  it('is commutative', () => {
    fc.assert(
      fc.property(stored, stored, (a, b) => assert.deepEqual(mergeRecords(a, b), mergeRecords(b, a))),
      { numRuns: 500 },
    );
  });

  it('is associative', () => {
    fc.assert(
      fc.property(stored, stored, stored, (a, b, c) =>
        assert.deepEqual(mergeRecords(mergeRecords(a, b), c), mergeRecords(a, mergeRecords(b, c))),
      ),
      { numRuns: 1000 },
    );
  });

  it('does not depend on the order or the repetition of many records', () => {
    fc.assert(
      fc.property(fc.array(stored, { minLength: 1, maxLength: 6 }), fc.infiniteStream(fc.nat()), (records, stream) => {
        const all = (list: readonly StoredRecord[]): StoredRecord => list.reduce((a, b) => mergeRecords(a, b));
        const shuffled = [...records, ...records].map((record) => [stream.next().value as number, record] as const);
        shuffled.sort(([a], [b]) => a - b);
        assert.deepEqual(all(shuffled.map(([, record]) => record)), all(records));
      }),
    );
  });

  it('never loses a value to a null', () => {
    fc.assert(
      fc.property(stored, stored, (a, b) => {
        const { record } = mergeRecords(a, b);
        for (const [field, value] of Object.entries(a.record))
          if (value !== null) assert.notEqual(record[field as keyof JobRecord], null, field);
      }),
    );
  });
});

describe('mergeRecords: a job whose end no sampler saw', () => {
  const peak = bracketOf(5, 7);
  const heartbeat = account('root', 'running', 1, { samples: 15, peak_rss: peak });
  const line = account('accounting', 'unsampled', 9, { failed: 0, exit_status: 0, notes: [NOT_SEEN, 'x'] });

  it('opens the upper bounds of the peaks so far, and makes the status lost, not unsampled', () => {
    const { record } = merged(heartbeat, line);
    assert.deepEqual([record.status, record.notes, record.exit_status], ['lost', ['x'], 0]);
    assert.deepEqual(record.peak_rss, {
      ...peak,
      upper_bytes: null,
      proved: false,
      exact: false,
      open: ['sampler-lost'],
    });
  });

  it('takes the closed bounds of a later record of the end', () => {
    const last = account('root', 'finished', 2, { samples: 20, peak_rss: { ...peak, upper_bytes: 9 } });
    const { record } = merged(merged(heartbeat, line), last);
    assert.deepEqual([record.status, record.peak_rss?.upper_bytes, record.peak_rss?.open], ['finished', 9, []]);
  });

  it('stays unsampled if no sample is known', () => {
    const { record } = merged(account('root', 'running', 1, { owner: 'bob' }), line);
    assert.deepEqual([record.status, record.notes], ['unsampled', [NOT_SEEN, 'x']]);
  });
});

describe('mergeRecords: ranks', () => {
  it('takes fields of the better rank, and fills gaps from the lesser one', () => {
    const root = account('root', 'finished', 1, { owner: 'bob', cpu_seconds: 10 });
    const usage = account('usage', 'finished', 9, { owner: 'eve', cpu_seconds: 99, exit_status: 3 });
    const { record, provenance } = merged(root, usage);
    assert.deepEqual([record.owner, record.cpu_seconds, record.exit_status], ['bob', 10, 3]);
    assert.deepEqual([record.trust, record.revision], ['root', 1]);
    assert.deepEqual(provenance, { exit_status: { trust: 'usage', revision: 9, ended: true } });
  });

  it('takes fields of the later revision within one rank', () => {
    const { record } = merged(
      account('root', 'finished', 1, { cpu_seconds: 10, processes: 4 }),
      account('root', 'finished', 2, { cpu_seconds: 20 }),
    );
    assert.deepEqual([record.cpu_seconds, record.processes, record.revision], [20, 4, 2]);
  });

  it("takes Grid Engine's failed code from accounting only", () => {
    const root = account('root', 'finished', 1, { failed: 100 });
    assert.equal(root.record.failed, null);
    const { record } = merged(root, account('accounting', 'finished', 2, { failed: 37 }));
    assert.deepEqual([record.failed, record.trust], [37, 'root']);
  });

  it('merges requests complex by complex', () => {
    const gib = (n: number) => ({ request_bytes: n * 2 ** 30, limit_bytes: n * 2 ** 30, per: 'job' as const });
    const { record } = merged(
      account('root', 'finished', 1, { requests: { s_vmem: gib(1) } }),
      account('accounting', 'finished', 2, { requests: { s_vmem: gib(2), mem_free: gib(3) } }),
    );
    assert.deepEqual(record.requests, { s_vmem: gib(1), mem_free: gib(3) });
  });

  it('keeps requests and metrics in the order of their names, in whichever order they came', () => {
    const request = { request_bytes: 1, limit_bytes: 1, per: 'job' } as const;
    const named = (...names: readonly string[]): StoredRecord => {
      const all = <T>(value: T): Readonly<Record<string, T>> => Object.fromEntries(names.map((name) => [name, value]));
      const parsed = parseRecord(recordOf({ requests: all(request), metrics: all(1) }));
      return asStored(parsed.ok ? parsed.value : assert.fail(parsed.error));
    };
    for (const { record } of [named('c', 'aa', 'b'), mergeRecords(named('c', 'b'), named('aa'))]) {
      assert.deepEqual(Object.keys(record.requests), ['aa', 'b', 'c']);
      assert.deepEqual(Object.keys(record.metrics), ['aa', 'b', 'c']);
    }
  });

  it('merges metrics name by name', () => {
    const { record, provenance } = merged(
      account('root', 'finished', 1, { metrics: { rapl_package_joules: 5, oom_kills: 0 } }),
      account('usage', 'finished', 2, { metrics: { oom_kills: 3, perf_cycles: 1e9 } }),
    );
    assert.deepEqual(record.metrics, { rapl_package_joules: 5, oom_kills: 0, perf_cycles: 1e9 });
    assert.deepEqual(provenance, { 'metrics.perf_cycles': { trust: 'usage', revision: 2, ended: true } });
  });

  it('takes a self-reported field only if no other record has it', () => {
    const { record } = merged(
      account('self-reported', 'finished', 9, { cpu_seconds: 1, job_name: 'x', notes: ['all is well'] }),
      account('accounting', 'finished', 1, { cpu_seconds: 2, notes: [] }),
    );
    assert.deepEqual([record.cpu_seconds, record.job_name, record.notes], [2, 'x', []]);
  });
});

describe('mergeRecords: status', () => {
  const cases: readonly [string, StoredRecord, StoredRecord, RecordStatus][] = [
    [
      'a late heartbeat does not make a finished job running',
      account('root', 'finished', 1),
      account('root', 'running', 9),
      'finished',
    ],
    [
      'an end of lesser rank ends a running job',
      account('root', 'running', 9),
      account('usage', 'finished', 1),
      'finished',
    ],
    [
      'a self-reported end ends a running job',
      account('root', 'running', 9),
      account('self-reported', 'finished', 1),
      'finished',
    ],
    ['lost yields to a better finished', account('usage', 'lost', 9), account('root', 'finished', 1), 'finished'],
    [
      'unsampled yields to a better finished',
      account('accounting', 'unsampled', 9),
      account('usage', 'finished', 1),
      'finished',
    ],
    ['lost stands against a lesser finished', account('root', 'lost', 1), account('accounting', 'finished', 9), 'lost'],
    ['finished beats lost within one rank', account('root', 'finished', 1), account('root', 'lost', 9), 'finished'],
  ];
  for (const [title, a, b, expected] of cases)
    it(title, () => {
      assert.equal(merged(a, b).record.status, expected);
    });

  it('takes nothing from a heartbeat of the same sampler once the job has ended, even one dated later', () => {
    const end = account('root', 'finished', 5, { cpu_seconds: 10, processes: 4, max_threads: 7 });
    for (const revision of [4, 9]) {
      const heartbeat = account('root', 'running', revision, { cpu_seconds: 8, processes: 3, max_threads: 7 });
      assert.equal(mergeRecords(end, heartbeat), end);
      assert.deepEqual(mergeRecords(heartbeat, end), end);
    }
  });

  it('keeps the notes of the record whose status stands', () => {
    const heartbeat = account('root', 'running', 9, { notes: [] });
    const epilog = account('usage', 'finished', 1, { notes: ['the sampler died'] });
    assert.deepEqual(merged(heartbeat, epilog).record.notes, ['the sampler died']);
  });

  it('takes growing figures from the record of the end, not from a heartbeat of better rank', () => {
    const heartbeat = account('root', 'running', 9, { cpu_seconds: 60, max_processes: 12 });
    const line = account('accounting', 'finished', 20, { cpu_seconds: 36000, max_processes: 1 });
    const { record } = merged(heartbeat, line);
    assert.deepEqual([record.cpu_seconds, record.max_processes], [36000, 12]);
    const forged = account('self-reported', 'finished', 20, { cpu_seconds: 1 });
    assert.equal(merged(heartbeat, forged).record.cpu_seconds, 60);
  });
});

describe('partsOf', () => {
  it('gives records that merge into the same record again, in either order', () => {
    fc.assert(
      fc.property(
        fc.array(arbitraryRecord({ keys: 1 }), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        (records, isReversed) => {
          const stored = records.map(asStored).reduce((a, b) => mergeRecords(a, b));
          const parts = partsOf(stored).map(asStored);
          const again = (isReversed ? parts.toReversed() : parts).reduce((a, b) => mergeRecords(a, b));
          assert.deepEqual(again, stored);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('gives the record itself if it was merged with no other', () => {
    fc.assert(
      fc.property(arbitraryRecord(), (record) => {
        assert.deepEqual(partsOf(asStored(record)), [asStored(record).record]);
      }),
    );
  });
});
