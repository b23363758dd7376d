import { cpuEfficiency, memoryEfficiency } from '../../../src/record/efficiency';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseSpoolUsage, type SpoolUsage } from '../../../src/gridengine/spool-usage';
import { describeJob } from '../../../src/sampler/job/job-description';
import { buildRecord, type RecordParts } from '../../../src/sampler/job/job-record';
import { nothingObserved, type Observation } from '../../../src/sampler/job/observation';
import { parseRecord } from '../../../src/record/record';
import { newPeaks, observe, type MemoryReading } from '../../../src/sampler/peaks/peaks';
import type { JobRecord } from '../../../src/record/record';
import { addOthers, addToSeries, newSeries } from '../../../src/sampler/series/series';
import { SWAP_PEAK } from '../../../src/sources/job/processes';
import { NO_SUMS } from '../../../src/sampler/processes/totals';
import { sampleConfig } from '../../gridengine/spool-samples';
import { USUAL_RULES } from '../../../src/record/request-rules';

const MIB = 2 ** 20;
const START = 1763700012_250;
const END = 1763700075_400;

const newReading = (): MemoryReading => ({
  id: '1.1/1',
  rss: 300 * MIB,
  rssSwap: 300 * MIB,
  vmem: 900 * MIB,
  anonymous: 290 * MIB,
  rssMark: 301 * MIB,
  vmemMark: 950 * MIB,
  slack: 0,
  markSlack: 0,
  pending: false,
  command: 'solver',
});

/** 300 MiB for a minute, seen from 250 ms after the start on. */
function observation(changes: Partial<Observation> = {}): Observation {
  const peaks = newPeaks();
  const series = newSeries(START);
  const reading = newReading();
  observe(peaks, [reading], START + 250);
  addToSeries(series, START + 250, reading.rss);
  return {
    peaks,
    series,
    startMs: START,
    firstSampleMs: START + 250,
    lastSampleMs: END - 400,
    samples: 63,
    longestGapMs: 1010,
    rssByteMs: 300 * MIB * 62_000,
    suspendedMs: 0,
    ioLost: false,
    sums: { ...NO_SUMS, cpu: 1_300, readBytes: 4096, writtenBytes: 8192, readChars: 5000, writtenChars: 9000 },
    maxProcesses: 3,
    maxThreads: 9,
    counts: { seen: 5, treeOnly: 1, groupOnly: 2 },
    lineage: null,
    ...changes,
  };
}

const description = describeJob(sampleConfig(), { job: 1516, task: 0, addressSpaceKib: null }, USUAL_RULES);
const usage: SpoolUsage = parseSpoolUsage(
  `exit_status=137\nsignal=9\nstart_time=1763700012\nend_time=1763700075\nru_wallclock=63
ru_utime=12.345678\nru_stime=0.250000\nru_maxrss=315172\n`,
);

function record(changes: Partial<RecordParts> = {}): JobRecord {
  return buildRecord({
    key: { cluster: 'c', job_id: 1516, task_id: null, pe_task_id: null, host: 'ge1', run_id: '0badcafe.1.2' },
    description,
    observation: observation(),
    usage,
    status: 'finished',
    trust: 'root',
    cost: { cpu_seconds: 0.4, max_rss_bytes: 50 * MIB, mode: 'full' },
    intervalSeconds: 1,
    notes: [],
    nowMs: END + 100,
    setByMs: 0,
    endedMs: END,
    addressSpaceLimit: Infinity,
    noSwap: true,
    footprint: null,
    metrics: {},
    precision: { kernel: [6, 18], pageSize: 4096, cpus: 2 },
    ...changes,
  });
}

/** Asserts that the record is valid and is read back unchanged. */
function assertStorable(made: JobRecord): void {
  const parsed = parseRecord(JSON.parse(JSON.stringify(made)));
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.error);
  // The reasons of an open bound have no order.
  const plain = (record: JobRecord): unknown =>
    JSON.parse(JSON.stringify(record), (key, value: unknown) =>
      key === 'open' ? [...(value as string[])].sort() : value,
    );
  assert.deepEqual(plain(parsed.value), plain(made));
}

describe('the record of a sampled job', () => {
  it('has the time that passed where the clock of its host was set meanwhile, and says so', () => {
    for (const [setByMs, said] of [
      [3_600_000, 'ahead by 3600 s'],
      [-86_400_000, 'back by 86400 s'],
    ] as const) {
      const ended = record({ setByMs });
      assert.deepEqual([ended.wallclock_seconds, ended.ended_at], [63.15, new Date(END + setByMs).toISOString()]);
      assert.ok(ended.notes.some((note) => note.includes(`clock was set ${said}`)));
      assertStorable(ended);
      const running = record({ setByMs, status: 'running', usage: null, endedMs: null, nowMs: END + setByMs });
      assert.equal(running.wallclock_seconds, 63.15);
    }
  });

  it('joins what Grid Engine and the sampler know', () => {
    const made = record();
    assertStorable(made);
    assert.equal(made.owner, 'alice');
    assert.equal(made.started_at, new Date(START).toISOString());
    assert.equal(made.ended_at, new Date(END).toISOString());
    assert.equal(made.wallclock_seconds, 63.15);
    assert.equal(made.exit_status, 137);
    assert.equal(made.signal, 9);
    assert.equal(made.failed, null);
    assert.equal(made.samples, 63);
    assert.equal(made.longest_gap_seconds, 1.01);
    assert.equal(made.unobserved_start_seconds, 0.25);
    assert.equal(made.rss_byte_seconds, 300 * MIB * 62);
    assert.deepEqual([made.processes, made.max_processes, made.max_threads], [5, 3, 9]);
    assert.deepEqual([made.claimed_by_tree_only, made.claimed_by_group_only], [1, 2]);
    assert.deepEqual(
      [made.read_bytes, made.written_bytes, made.read_chars, made.written_chars],
      [4096, 8192, 5000, 9000],
    );
    assert.equal(made.revision, END + 100);
    assert.deepEqual(made.series?.rss_bytes.at(-1), 300 * MIB);
  });

  it('has neither sums nor rates of I/O that is not all known', () => {
    const series = newSeries(START);
    addToSeries(series, START, MIB);
    addOthers(series, START + 1000, { counters: { cpu_cores: 1, read_bytes_per_second: 4096 } });
    const of = (ioLost: boolean): unknown => {
      const { read_bytes, series: made } = record({ observation: observation({ series, ioLost }) });
      return [read_bytes, Object.keys(made?.others ?? {})];
    };
    assert.deepEqual(of(false), [4096, ['cpu_cores', 'read_bytes_per_second']]);
    assert.deepEqual(of(true), [null, ['cpu_cores']]);
  });

  it('ends its chart with the current memory while the job runs, and with the step’s maximum later', () => {
    const series = newSeries(START);
    addToSeries(series, START, 300 * MIB);
    addToSeries(series, START + 10, 100 * MIB);
    const lastOf = (status: RecordParts['status']): unknown =>
      record({ observation: observation({ series }), status }).series?.rss_bytes.at(-1);
    assert.deepEqual([lastOf('running'), lastOf('finished')], [100 * MIB, 300 * MIB]);
  });

  it('stays valid with too many notes and too large figures, which are cut', () => {
    const notes = ['first', ...Array.from({ length: 90 }, (_, index) => `${index} ${'€'.repeat(3000)}`)];
    const vast = { ...newReading(), vmem: 2 ** 54, vmemMark: 2 ** 54 };
    const seen = observation({ sums: { ...NO_SUMS, readChars: 2 ** 60, writtenChars: 2 ** 53 } });
    observe(seen.peaks, [vast], START + 1000);
    const made = record({ notes, observation: seen });
    assertStorable(made);
    assert.equal(made.notes[0], 'first');
    assert.ok(made.notes[1]?.startsWith('0 €€'));
    assert.equal(made.notes.length, 64);
    assert.equal(made.peak_vmem?.lower_bytes, Number.MAX_SAFE_INTEGER);
    assert.equal(made.peak_vmem.upper_bytes, null);
    assert.equal(made.read_chars, Number.MAX_SAFE_INTEGER);
  });

  it('has the peak of swapped-out memory', () => {
    assert.ok(!(SWAP_PEAK.name in record().metrics));
    const seen = observation();
    addOthers(seen.series, START + 1000, { amounts: { swap_bytes: 7 * MIB } });
    addOthers(seen.series, START + 2000, { amounts: { swap_bytes: 5 * MIB } });
    assert.equal(record({ observation: seen }).metrics[SWAP_PEAK.name], 7 * MIB);
  });

  it('has brackets with the reasons why they are open', () => {
    const made = record();
    const open = ['end-gap', 'no-exit-records', 'no-lineage', 'start-gap'];
    assert.deepEqual(made.peak_rss?.open, open);
    assert.deepEqual(made.peak_vmem?.open, open);
    assert.deepEqual(made.peak_footprint?.open, [...open, 'no-page-accounting'].sort());
    assert.equal(made.peak_vmem.lower_bytes, 950 * MIB);
    assert.equal(made.peak_process_vmem?.lower_bytes, 950 * MIB);
    assert.equal(made.peak_footprint.lower_bytes, 290 * MIB);
  });

  it('has ru_maxrss less its error as the lower bound where that is higher', () => {
    assert.deepEqual(record().peak_rss?.sources, ['usage']);
    assert.equal(record().peak_rss?.lower_bytes, 315172 * 1024 - 3 * 32 * 2 * 4096);
  });

  it('multiplies the error of ru_maxrss by the threads on kernels whose threads keep own counts', () => {
    const precision = { kernel: [5, 14], pageSize: 4096, cpus: 2 } as const;
    assert.equal(record({ precision }).peak_rss?.lower_bytes, Math.max(301 * MIB, 315172 * 1024 - 3 * 9 * 64 * 4096));
    const single = record({ precision, observation: observation({ maxThreads: 1 }) });
    assert.equal(single.peak_rss?.lower_bytes, 315172 * 1024 - 3 * 64 * 4096);
  });

  it('has no peak where ru_maxrss may be the shepherd’s own', () => {
    const small = { ...usage, maxrssBytes: 15 * MIB };
    const made = record({ usage: small, observation: observation({ peaks: newPeaks(), samples: 0 }) });
    assert.equal(made.peak_rss, null);
  });

  it('gives CPU efficiency by slots and memory efficiency by the limit', () => {
    const made = record();
    assert.equal(made.cpu_seconds, 13);
    assert.equal(cpuEfficiency(made), 13 / (63.15 * 2));
    assert.equal(memoryEfficiency(made), (made.peak_rss?.lower_bytes ?? 0) / (2 * 1024 * MIB));
  });

  it('has the larger one of the CPU times of usage and of the sampler', () => {
    assert.equal(record({ observation: observation({ sums: { ...NO_SUMS, cpu: 100 } }) }).cpu_seconds, 12.596);
    assert.equal(record({ usage: null }).cpu_seconds, 13);
  });

  it('has no counts of claimed processes where the job has no group', () => {
    const ungrouped = describeJob(
      sampleConfig({ add_grp_id: null }),
      { job: 1516, task: 0, addressSpaceKib: null },
      USUAL_RULES,
    );
    const made = record({ description: ungrouped });
    assert.deepEqual([made.claimed_by_tree_only, made.claimed_by_group_only], [null, null]);
  });
});

describe('the record of a running job', () => {
  it('has no end, and the elapsed time so far', () => {
    const made = record({ status: 'running', usage: null, endedMs: null, nowMs: START + 30_000 });
    assertStorable(made);
    assert.equal(made.ended_at, null);
    assert.equal(made.wallclock_seconds, 30);
    assert.equal(made.exit_status, null);
    assert.equal(made.cpu_seconds, 13);
    assert.deepEqual(made.peak_rss?.open, ['no-exit-records', 'no-lineage', 'start-gap']);
  });
});

describe('the record of a job whose shepherd was lost', () => {
  it('is open as sampler-lost in RSS and address space', () => {
    const made = record({ status: 'lost', usage: null, endedMs: END });
    assertStorable(made);
    assert.ok(made.peak_rss?.open.includes('sampler-lost'));
    assert.ok(made.peak_vmem?.open.includes('sampler-lost'));
    assert.equal(made.exit_status, null);
  });
});

describe('the record of a job that was not sampled', () => {
  it('has the figures of usage', () => {
    const made = record({
      observation: nothingObserved(),
      endedMs: null,
      trust: 'usage',
      cost: null,
      notes: ['Not sampled: why.'],
    });
    assertStorable(made);
    assert.equal(made.started_at, '2025-11-21T04:40:12.000Z');
    assert.equal(made.ended_at, '2025-11-21T04:41:15.000Z');
    assert.equal(made.wallclock_seconds, 63);
    assert.equal(made.cpu_seconds, 12.596);
    for (const field of [
      'samples',
      'series',
      'processes',
      'rss_byte_seconds',
      'interval_seconds',
      'read_bytes',
    ] as const)
      assert.equal(made[field], null, field);
    assert.deepEqual(made.notes, ['Not sampled: why.']);
  });

  it('has one lower bound, that of RSS from usage', () => {
    const made = record({ observation: nothingObserved(), endedMs: null });
    assert.deepEqual(made.peak_rss?.sources, ['usage']);
    assert.ok(made.peak_rss.open.includes('no-samples'));
    assert.equal(made.peak_vmem, null);
  });

  it('has no times and no figures without usage', () => {
    const made = record({ observation: nothingObserved(), usage: null, endedMs: null, status: 'lost' });
    assertStorable(made);
    for (const field of ['started_at', 'ended_at', 'wallclock_seconds', 'cpu_seconds', 'peak_rss'] as const)
      assert.equal(made[field], null, field);
  });
});
