import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_SETTINGS } from '../../src/record/settings';
import { chooseSource } from '../../src/sampler/source-settings';
import { cgroupFacts, openCgroup } from '../../src/sources/job/cgroup';
import { cgroupReadings } from '../../src/sources/job/cgroup-reading';
import { openPerf } from '../../src/sources/job/perf';
import { derived, perfEvents, perfFacts, perfMetricReadings } from '../../src/sources/job/perf-metrics';
import { pss } from '../../src/sources/job/pss';
import { NODE_SOURCES, PROCESS_SOURCES } from '../../src/sources/registry';
import {
  isUnavailable,
  THIS_MACHINE,
  type Place,
  type Reading,
  type SourceFacts,
  type Unavailable,
} from '../../src/sources/source';
import { burner, burnersObstacle } from '../burners/build';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { cpuOfCall } from './cpu-cost';
import { makeJobCgroup, type JobCgroup } from './job-cgroup';
import { listenerSection } from './listener-cost';
import { newSeriesRoom } from './series-room';

/** The cost of one reading of each source, and the room that its values take in node.db. */

const COUNTS = [1, 20] as const;
const PROCESS_MIB = 32;
const NODE_FLUSH_MS = 60_000;
const JOB_FLUSH_MS = 5000;

const placeOf = (facts: SourceFacts): Place => ({
  ...THIS_MACHINE,
  options: chooseSource(facts, DEFAULT_SETTINGS).options,
});

interface Readable {
  readonly facts: SourceFacts;
  readonly read: () => readonly Reading[] | Unavailable;
  readonly close: () => void;
}

/** Cost of a source's reading, or why it was not read. */
function costRow(what: string, opened: Readable | Unavailable, blocks: number): Row {
  if (isUnavailable(opened)) return { what, unit: 'us', values: [], note: opened.unavailable };
  const first = opened.read();
  if (isUnavailable(first)) return { what, unit: 'us', values: [], note: first.unavailable };
  const values = cpuOfCall(opened.read, blocks);
  const { enabled, interval, blocking } = opened.facts;
  const note = [
    `${first.length} values`,
    `every ${interval} s`,
    ...(blocking ? ['in the helper'] : []),
    ...(enabled ? [] : ['off by default']),
  ];
  return { what, unit: 'us', values, note: note.join(', ') };
}

function openNodeSources(): readonly (readonly [string, Readable | Unavailable])[] {
  return NODE_SOURCES.map((facts) => {
    const opened = facts.open(placeOf(facts));
    return [facts.name, isUnavailable(opened) ? opened : { facts, ...opened }];
  });
}

interface Job {
  readonly pids: readonly number[];
  readonly group: JobCgroup | Unavailable;
  readonly end: () => Promise<void>;
}

/** What a sampler reads beside the processes of a job: perf counters, its cgroup, sources that take pids. */
function openJobSources({ pids, group }: Job): readonly (readonly [string, Readable | Unavailable])[] {
  const [root = 0] = pids;
  const perf = openPerf({ pid: root, includeSelf: true }, perfEvents(placeOf(perfFacts).options), THIS_MACHINE);
  const cgroup = isUnavailable(group) ? group : openCgroup(group.directories, THIS_MACHINE);
  const readPerf = (): readonly Reading[] => {
    const counts = isUnavailable(perf) ? [] : perf.read();
    return [...perfMetricReadings(counts), ...derived(counts)];
  };
  const readCgroup = (): readonly Reading[] | Unavailable => {
    const reading = isUnavailable(cgroup) ? cgroup : cgroup.read();
    return isUnavailable(reading) ? reading : cgroupReadings(reading);
  };
  return [
    [perfFacts.name, isUnavailable(perf) ? perf : { facts: perfFacts, read: readPerf, close: perf.close }],
    [cgroupFacts.name, isUnavailable(cgroup) ? cgroup : { facts: cgroupFacts, read: readCgroup, close: cgroup.close }],
    ...PROCESS_SOURCES.map((facts): readonly [string, Readable | Unavailable] => {
      const opened = facts.open(placeOf(facts));
      if (isUnavailable(opened)) return [facts.name, opened];
      return [facts.name, { facts, read: () => opened.read(pids), close: opened.close }];
    }),
  ];
}

const closeAll = (sources: readonly (readonly [string, Readable | Unavailable])[]): void => {
  for (const [, opened] of sources) if (!isUnavailable(opened)) opened.close();
};

function nodeSection(options: BenchOptions): Section {
  const sources = openNodeSources();
  const rows = sources.map(([name, opened]) => {
    options.progress(`sources: ${name}`);
    return costRow(name, opened, options.quick ? 3 : 20);
  });
  closeAll(sources);
  return {
    title: 'node-wide sources, CPU of one reading (one for all jobs of a node)',
    rows,
    notes: ['Commands that a source runs (nvidia-smi, ipmitool) are not in it.'],
  };
}

function jobSection(started: Job, options: BenchOptions): Section {
  const { pids } = started;
  const sources = openJobSources(started);
  const rows = sources.map(([name, opened]) => {
    options.progress(`sources: ${name}, ${pids.length} processes`);
    return costRow(name, opened, options.quick ? 3 : 20);
  });
  closeAll(sources);
  return { title: `a job's sources, CPU of one reading, ${pids.length} processes of ${PROCESS_MIB} MiB`, rows };
}

/** Processes that hold memory; `busy`: one more that computes. */
async function startProcesses(count: number, busy: boolean): Promise<Job> {
  const hold = ['--hold=86400000'];
  const idle = Array.from({ length: count }, () => [burner('steady'), `--mib=${PROCESS_MIB}`, ...hold]);
  const working = busy ? [[burner('cpu'), '--seconds=100000', '--system=0.3']] : [];
  const children: readonly ChildProcess[] = [...idle, ...working].map(([program = '', ...words]) =>
    spawn(program, words, { stdio: 'ignore' }),
  );
  const kill = (): void => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.once('exit', kill);
  const pids = children.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  const group = makeJobCgroup(pids);
  await sleep(500);
  return {
    pids,
    group,
    end: async () => {
      process.off('exit', kill);
      const over = children.map((child) => once(child, 'exit'));
      kill();
      await Promise.all(over);
      if (!isUnavailable(group)) group.remove();
    },
  };
}

/** Reads all sources as in operation, for as long as the node's series wait in memory. */
async function roomSection(started: Job, options: BenchOptions): Promise<Section> {
  const node = openNodeSources();
  const job = openJobSources(started);
  const nodeRoom = newSeriesRoom(NODE_SOURCES.flatMap(({ metrics }) => metrics));
  const jobRoom = newSeriesRoom([perfFacts, cgroupFacts, ...PROCESS_SOURCES].flatMap(({ metrics }) => metrics));
  const lasts = options.quick ? NODE_FLUSH_MS / 6 : NODE_FLUSH_MS;

  function readDue(
    sources: readonly (readonly [string, Readable | Unavailable])[],
    room: ReturnType<typeof newSeriesRoom>,
    second: number,
  ): void {
    for (const [name, opened] of sources) {
      if (isUnavailable(opened) || !opened.facts.enabled || second % opened.facts.interval !== 0) continue;
      const readings = opened.read();
      if (isUnavailable(readings)) continue;
      if (name !== pss.name) {
        room.add(name, Date.now(), readings);
        continue;
      }
      const sums = new Map<string, number>();
      for (const { metric, value } of readings) sums.set(metric, (sums.get(metric) ?? 0) + value);
      const summed = [...sums].map(([metric, value]): Reading => ({ metric, instance: '', value }));
      room.add(name, Date.now(), summed);
    }
  }

  const begin = performance.now();
  for (let second = 0; second * 1000 < lasts; second++) {
    options.progress(`sources: room, ${second} of ${lasts / 1000} s`);
    readDue(node, nodeRoom, second);
    readDue(job, jobRoom, second);
    if ((second + 1) % (JOB_FLUSH_MS / 1000) === 0) jobRoom.flush();
    await sleep(Math.max(0, begin + (second + 1) * 1000 - performance.now()));
  }
  nodeRoom.flush();
  jobRoom.flush();
  closeAll([...node, ...job]);
  return {
    title: `room in node.db, bytes for each stored value, ${lasts / 1000} s of this machine at their own intervals`,
    rows: [
      ...nodeRoom.rows(`the node's, a row every ${NODE_FLUSH_MS / 1000} s`),
      ...jobRoom.rows(`a job's (${started.pids.length} processes), a row every ${JOB_FLUSH_MS / 1000} s`),
    ],
    notes: [
      'With 24 bytes for each row. Rows of finished jobs, and of the node hour by hour, are put together and deflated.',
    ],
  };
}

async function run(options: BenchOptions): Promise<readonly Section[]> {
  const obstacle = burnersObstacle();
  const sections: Section[] = [nodeSection(options)];
  if (obstacle !== null)
    return [...sections, { title: "a job's sources", rows: [{ what: 'CPU', unit: 'us', values: [], note: obstacle }] }];
  for (const count of COUNTS) {
    const job = await startProcesses(count, false);
    try {
      sections.push(jobSection(job, options));
    } finally {
      await job.end();
    }
  }
  sections.push(await listenerSection(options));
  const job = await startProcesses(COUNTS[1] - 1, true);
  try {
    sections.push(await roomSection(job, options));
  } finally {
    await job.end();
  }
  return sections;
}

export const sourcesBench: Bench = {
  name: 'sources',
  about: 'CPU of one reading of each source, the listener per process, bytes per stored value',
  run,
};
