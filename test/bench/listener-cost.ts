import { retireListener } from '../../src/sampler/listener/directory';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Lineage } from '../../src/sampler/processes/lineage';
import { connectListener, type ListenerLink } from '../../src/sampler/listener/client';
import type { Reply } from '../../src/sampler/listener/protocol';
import type { ProcessEvent } from '../../src/sampler/listener/process-table';
import { loadSettings } from '../../src/record/settings';
import { thisMachine } from '../../src/sampler/peaks/slack';
import { allPids } from '../../src/sources/proc/process-files';
import { bracketsObstacle } from '../burners/bracketed';
import { burner } from '../burners/build';
import type { BenchOptions, Row, Section } from './bench';
import { cpuMs } from './process-cost';
import { temporaryDirectory } from '../support/temporary-directory';

/** The listener's CPU time for a process of the node that comes and goes, and without any. */

const CHILDREN = 2000;
const SYNC_WITHIN_MS = 10_000;
const US_PER_MS = 1000;
/** At least two of its readings. */
const REST_WINDOW_MS = 5000;

function pidOfListener(settingsPath: string): number {
  const found = allPids().find((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return words.includes(settingsPath) && words.some((word) => word.endsWith('listener/main.js'));
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error('the listener was not found');
  return found;
}

async function forkMany(): Promise<void> {
  const [status] = (await once(spawn(burner('events'), [`--children=${CHILDREN}`], { stdio: 'ignore' }), 'exit')) as [
    number,
  ];
  if (status !== 0) throw new Error(`events left with status ${status}`);
}

/** CPU time of the listener in µs per process; a sync before and after makes sure that all events are counted. */
async function perProcess(link: ListenerLink, listener: number): Promise<number> {
  await link.sync(SYNC_WITHIN_MS);
  const before = cpuMs(listener);
  await forkMany();
  await link.sync(SYNC_WITHIN_MS);
  return ((cpuMs(listener) - before) * US_PER_MS) / CHILDREN;
}

function forks(): number {
  return Number(/^processes (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1'))?.[1] ?? NaN);
}

/** No sampler follows a job: CPU of the listener in percent of a core, and new processes a second meanwhile. */
async function atRest(
  listener: number,
  options: BenchOptions,
): Promise<{ readonly percent: readonly number[]; readonly forks: readonly number[] }> {
  const windows = options.quick ? 2 : 12;
  const percent: number[] = [];
  const begun: number[] = [];
  // At first the listener still compiles its code.
  await sleep(options.quick ? 1000 : 20_000);
  for (let window = 0; window < windows; window++) {
    options.progress(`sources: a listener at rest, ${window + 1} of ${windows}`);
    const [cpu, before] = [cpuMs(listener), forks()];
    await sleep(REST_WINDOW_MS);
    percent.push(((cpuMs(listener) - cpu) / REST_WINDOW_MS) * 100);
    begun.push(((forks() - before) / REST_WINDOW_MS) * 1000);
  }
  return { percent, forks: begun };
}

export async function listenerSection(options: BenchOptions): Promise<Section> {
  const title = `the node's listener, per process that is forked and ends (fork, exit, exit record), ${CHILDREN} at a time`;
  const obstacle = bracketsObstacle();
  if (obstacle !== null) return { title, rows: [{ what: 'CPU', unit: 'us', values: [], note: obstacle }] };
  const directory = temporaryDirectory();
  try {
    const path = join(directory, 'qmemacct.toml');
    writeFileSync(path, `run_dir = ${JSON.stringify(join(directory, 'run'))}\n`);
    const heard: ProcessEvent[] = [];
    const take = (reply: Reply): void => {
      if (reply.kind === 'fork' || reply.kind === 'exec' || reply.kind === 'exit') heard.push(reply);
    };
    const connected = async (): Promise<ListenerLink> => {
      const link = await connectListener(path, loadSettings(path), { take, lost: () => undefined });
      if (link === null) throw new Error('the listener could not be started');
      return link;
    };
    (await connected()).close();
    const listener = pidOfListener(path);
    const blocks = options.quick ? 3 : 10;
    const rest = await atRest(listener, options);
    const link = await connected();
    const unheard: number[] = [];
    const followed: number[] = [];
    const lineage: number[] = [];
    for (let block = -1; block < blocks; block++) {
      options.progress(`sources: processes that nobody follows, ${block + 1} of ${blocks}`);
      const cost = await perProcess(link, listener);
      if (block >= 0) unheard.push(cost);
    }
    link.follow([process.pid]);
    for (let block = -1; block < blocks; block++) {
      options.progress(`sources: processes of a job, ${block + 1} of ${blocks}`);
      heard.length = 0;
      const cost = await perProcess(link, listener);
      const own = new Lineage(thisMachine());
      const root = heard.find((event) => event.kind === 'fork');
      if (root?.kind === 'fork') own.setRoot(root.child);
      const begin = process.cpuUsage();
      own.addEvents(heard);
      own.settle({ begin: heard.at(-1)?.at ?? 0, readings: [] });
      const { user, system } = process.cpuUsage(begin);
      if (block < 0) continue;
      followed.push(cost);
      lineage.push((user + system) / CHILDREN);
    }
    link.close();
    const rows: Row[] = [
      { what: 'of other people’s processes', unit: 'us', values: unheard },
      { what: 'of a job that a sampler follows', unit: 'us', values: followed },
      { what: 'taken in by that sampler', unit: 'us', values: lineage },
      {
        what: 'at rest, of one core',
        unit: '%',
        values: rest.percent,
        budget: options.quick ? undefined : 'listener at rest',
      },
      { what: 'processes that others forked meanwhile', unit: '1/s', values: rest.forks },
    ];
    return { title, rows, notes: ['CPU time. Others who fork on this machine meanwhile are counted in it.'] };
  } finally {
    await retireListener({ run_dir: join(directory, 'run') });
  }
}
