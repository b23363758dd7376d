import { memoryEfficiency } from '../../../src/record/efficiency';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ALL_FACTS } from '../../../src/sampler/figures/job-facts';
import { afterRestart, withEarlierMetrics } from '../../../src/sampler/job/two-accounts';
import type { Bracket, JobRecord } from '../../../src/record/record';
import { OF_THE_JOB } from '../../../src/sources/job/cgroup-reading';
import { arbitraryRecord } from '../../accounting/arbitrary-record';
import { limitOf } from '../../../src/record/request';
import { recordOf } from '../../support/records';

const PEAKS = ['peak_rss', 'peak_rss_swap', 'peak_vmem', 'peak_process_vmem', 'peak_footprint'] as const;
const TOTALS = [
  'cpu_seconds',
  'processes',
  'max_processes',
  'max_threads',
  'read_bytes',
  'written_bytes',
  'read_chars',
  'written_chars',
] as const;

const forAnyTwo = (check: (record: JobRecord, earlier: JobRecord) => void): void => {
  fc.assert(fc.property(arbitraryRecord(), arbitraryRecord(), check));
};

describe('the record of a job that an earlier sampler began', () => {
  it('has the higher lower bound, and an upper bound only where a cgroup counted throughout', () => {
    forAnyTwo((record, earlier) => {
      const both = afterRestart(record, earlier);
      for (const peak of PEAKS) {
        const later = record[peak];
        const counted = later?.sources.includes('cgroup') === true ? later.upper_bytes : null;
        const ends = [record[peak], earlier[peak]].filter((one) => one !== null);
        const bracket: Bracket | null = both[peak];
        if (ends.length === 0) {
          assert.equal(bracket, null);
          continue;
        }
        assert.ok(bracket !== null);
        assert.equal(bracket.lower_bytes, Math.max(...ends.map(({ lower_bytes }) => lower_bytes)));
        if (counted !== null) {
          assert.equal(bracket.upper_bytes, Math.max(bracket.lower_bytes, counted));
          assert.deepEqual([bracket.proved, bracket.open], [later?.proved, later?.open]);
          continue;
        }
        assert.deepEqual([bracket.upper_bytes, bracket.proved, bracket.exact], [null, false, false]);
        assert.ok(bracket.open.includes('sampler-lost'));
        for (const { open } of ends) for (const reason of open) assert.ok(bracket.open.includes(reason));
      }
    });
  });

  it('lowers no total, joins the metrics and keeps every note', () => {
    forAnyTwo((record, earlier) => {
      const both = afterRestart(record, earlier);
      for (const total of TOTALS)
        for (const one of [record[total], earlier[total]])
          if (one !== null) assert.ok((both[total] ?? -1) >= one, total);
      assert.equal(both.samples, record.samples === null ? earlier.samples : record.samples + (earlier.samples ?? 0));
      assert.deepEqual(both.metrics, withEarlierMetrics(record.metrics, earlier.metrics, OF_THE_JOB));
      const held = [record, earlier].map(({ rss_byte_seconds: part }) => part ?? 0);
      assert.equal(both.rss_byte_seconds ?? 0, (held[0] ?? 0) + (held[1] ?? 0));
      for (const note of [...record.notes, ...earlier.notes]) assert.ok(both.notes.includes(note));
      assert.equal(both.trust, earlier.trust === 'root' ? 'root' : record.trust);
      assert.equal(both.started_at, earlier.started_at ?? record.started_at);
    });
  });

  it('has the sums of what both counted, the higher peaks and the cgroup’s latest totals', () => {
    const later = recordOf({
      rss_byte_seconds: 40,
      suspended_seconds: 3,
      metrics: { energy_package_joules: 30, pss_peak_bytes: 400, cgroup_cpu_seconds: 7, cgroup_peak_bytes: 8 },
    });
    const earlier = recordOf({
      rss_byte_seconds: 60,
      suspended_seconds: 600,
      metrics: { energy_package_joules: 70, pss_peak_bytes: 900, cgroup_cpu_seconds: 5, cgroup_peak_bytes: 8 },
    });
    const both = afterRestart(later, earlier);
    assert.equal(both.rss_byte_seconds, 100);
    assert.equal(both.suspended_seconds, 603);
    assert.deepEqual(both.metrics, {
      energy_package_joules: 100,
      pss_peak_bytes: 900,
      cgroup_cpu_seconds: 7,
      cgroup_peak_bytes: 8,
    });
  });

  it('has everything else from the later sampler', () => {
    forAnyTwo((record, earlier) => {
      const both = afterRestart(record, earlier);
      for (const field of [
        'job_id',
        'run_id',
        'status',
        'owner',
        'exit_status',
        'ended_at',
        'h_vmem',
        'revision',
      ] as const)
        assert.deepEqual(both[field], record[field]);
      const limit = limitOf(both) ?? 0;
      assert.equal(
        memoryEfficiency(both),
        both.peak_rss === null || limit <= 0 ? null : both.peak_rss.lower_bytes / limit,
      );
    });
  });
});

const facts = ALL_FACTS.flatMap(({ metrics }) => metrics);
const nameOf = (kind: string): string => {
  const name = facts.find((metric) => metric.kind === kind)?.name;
  assert.ok(name !== undefined);
  return name;
};

const someMetrics = fc.dictionary(
  fc.constantFrom(...facts.slice(0, 40).map(({ name }) => name), 'unknown', 'constructor'),
  fc.nat({ max: 1e9 }),
  { noNullPrototype: true },
);

describe('the metrics of two samplers, one after the other', () => {
  it('are the sums of counters and the higher of other figures', () => {
    const counter = nameOf('counter');
    const gauge = nameOf('gauge');
    assert.deepEqual(withEarlierMetrics({ [counter]: 2, [gauge]: 5 }, { [counter]: 3, [gauge]: 9 }, new Set()), {
      [counter]: 5,
      [gauge]: 9,
    });
    // A total that the kernel keeps goes on counting between the two.
    assert.deepEqual(withEarlierMetrics({ [counter]: 7 }, { [counter]: 3 }, new Set([counter])), { [counter]: 7 });
  });

  it('weigh means and ratios by what they refer to', () => {
    const earlier = { gpu_utilization_mean_percent: 90, gpu_held_time_seconds: 100, perf_ipc_ratio: 3 };
    const later = { gpu_utilization_mean_percent: 10, gpu_held_time_seconds: 900, perf_ipc_ratio: 0.5 };
    const both = withEarlierMetrics(
      { ...later, perf_cpu_cycles: 2000, pss_samples: 5 },
      { ...earlier, perf_cpu_cycles: 100, pss_samples: 7 },
      new Set(),
    );
    assert.deepEqual(both, {
      gpu_utilization_mean_percent: 18,
      gpu_held_time_seconds: 1000,
      perf_ipc_ratio: 1300 / 2100,
      perf_cpu_cycles: 2100,
      pss_samples: 12,
    });
    assert.deepEqual(withEarlierMetrics({ perf_ipc_ratio: 2 }, { perf_ipc_ratio: 3 }, new Set()), {
      perf_ipc_ratio: 2,
    });
  });

  it('keep every name, and lower no figure', () => {
    fc.assert(
      fc.property(someMetrics, someMetrics, (now, earlier) => {
        const both = withEarlierMetrics(now, earlier, new Set());
        assert.deepEqual(new Set(Object.keys(both)), new Set([...Object.keys(now), ...Object.keys(earlier)]));
        for (const [name, value] of [...Object.entries(now), ...Object.entries(earlier)])
          assert.ok((both[name] as number) >= value, name);
      }),
    );
  });

  it('are those of one sampler where the other has none', () => {
    fc.assert(
      fc.property(someMetrics, fc.boolean(), (some, absolute) => {
        const names = new Set(absolute ? Object.keys(some) : []);
        assert.deepEqual(withEarlierMetrics(some, {}, names), some);
        assert.deepEqual(withEarlierMetrics({}, some, names), some);
      }),
    );
  });
});
