import { statSync } from 'node:fs';
import { join } from 'node:path';
import { NodeStore } from '../../src/sampler/node-store/node-store';
import type { StoredProcess, StoredSample } from '../../src/sampler/node-store/sample-table';
import { DEFAULT_SETTINGS } from '../../src/record/settings';
import { realisticRecords, seededRandom } from '../accounting/realistic-record';
import type { Section } from './bench';
import { temporaryDirectory } from '../support/temporary-directory';

/** An hour of one job in node.db: 3,600 samples of 20 processes, written every five seconds as the sampler does. */

const SAMPLES = 3600;
const PROCESSES = 20;
const SAMPLES_PER_SAVE = 5;
/** rss, vmem, swap, anonymous, cpu, processes, threads, read, written. */
const VALUES_PER_SAMPLE = 9;
/** rss, cpu. */
const VALUES_PER_PROCESS = 2;

/** Memory that changes in a third of the seconds, CPU time that grows while a process works. */
function hour(): readonly StoredSample[] {
  const random = seededRandom(7);
  const kept = DEFAULT_SETTINGS.processes_per_sample;
  const processes = Array.from({ length: PROCESSES }, (_, index) => ({
    pid: 20_000 + index * 3,
    start: 1_234_567 + index,
    command: index === 0 ? 'bash' : `worker-${index % 3}`,
    rss: Math.floor(4096 + random() * 2_000_000),
    cpu: 0,
    busy: random(),
  }));
  const samples: StoredSample[] = [];
  let read = 0;
  let written = 0;
  for (let second = 0; second < SAMPLES; second++) {
    for (const process of processes) {
      if (random() < 0.33) process.rss = Math.max(1000, process.rss + Math.floor((random() - 0.45) * 8192));
      if (random() < process.busy) process.cpu += 10 * Math.floor(random() * 101);
    }
    if (random() < 0.2) read += Math.floor(random() * 65536);
    if (random() < 0.2) written += Math.floor(random() * 65536);
    const ordered = [...processes].sort((a, b) => b.rss - a.rss);
    const largest = ordered
      .slice(0, kept)
      .map(({ pid, start, command, rss, cpu }): StoredProcess => ({ pid, start, command, rss, cpu }));
    const others = ordered.slice(kept);
    const rss = processes.reduce((total, process) => total + process.rss, 0);
    samples.push({
      at: second * 1000 + 3,
      rss,
      vmem: rss * 3,
      swap: 0,
      anonymous: Math.floor(rss * 0.9),
      cpu: processes.reduce((total, process) => total + process.cpu, 0),
      processes: PROCESSES,
      threads: PROCESSES + 4,
      read,
      written,
      largest,
      othersRss: others.reduce((total, process) => total + process.rss, 0),
      othersCpu: others.reduce((total, process) => total + process.cpu, 0),
    });
  }
  return samples;
}

export function nodeDbSection(): Section {
  const directory = temporaryDirectory();
  const path = join(directory, 'node.db');
  const size = (suffix: string): number => statSync(`${path}${suffix}`, { throwIfNoEntry: false })?.size ?? 0;
  new NodeStore(directory).close();
  const empty = size('');
  const samples = hour();
  const record = {
    ...realisticRecords(3).next(),
    series: {
      start: new Date(0).toISOString(),
      step_seconds: 51.2,
      others: {},
      rss_bytes: samples.filter((_, index) => index % 51 === 0).map(({ rss }) => rss * 1024),
    },
  };
  const values = samples.reduce(
    (total, { largest, othersRss }) =>
      total + VALUES_PER_SAMPLE + VALUES_PER_PROCESS * (largest.length + (othersRss > 0 ? 1 : 0)),
    0,
  );
  const store = new NodeStore(directory);
  const before = process.cpuUsage();
  for (let at = 0; at < SAMPLES; at += SAMPLES_PER_SAVE)
    store.saveProgress('1.0.00000000.1.1', 0, record, samples.slice(at, at + SAMPLES_PER_SAVE));
  const { user, system } = process.cpuUsage(before);
  const log = size('-wal');
  store.close();
  const bytes = size('') - empty;
  const saves = SAMPLES / SAMPLES_PER_SAVE;
  return {
    title: `node.db: ${SAMPLES} samples of ${PROCESSES} processes (${values} measured values)`,
    rows: [
      { what: 'bytes per measured value', unit: 'bytes', values: [bytes / values], budget: 'node.db per value' },
      { what: 'bytes per sample', unit: 'bytes', values: [bytes / SAMPLES] },
      { what: 'write-ahead log, once per node', unit: 'KiB', values: [log / 1024] },
      { what: `CPU of one save (${SAMPLES_PER_SAVE} samples)`, unit: 'ms', values: [(user + system) / 1000 / saves] },
    ],
  };
}
