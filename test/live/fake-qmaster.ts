import type { ClientAnswer, RunClient } from '../../src/gridengine/client-command';
import type { Dialect } from '../../src/gridengine/dialect';
import type { QhostHost } from '../../src/gridengine/qhost/qhost-report';
import type { JobDetail, TaskDetail } from '../../src/gridengine/qstat/job-detail';
import type { ListedJob } from '../../src/gridengine/qstat/job-list';
import type { AnswerReader } from '../../src/gridengine/reading';
import type { PollTools, Readers } from '../../src/live/poller';

/** Hosts, rows and details with only what tells them apart. */
export function aHost(name: string): QhostHost {
  return {
    name,
    architecture: null,
    processors: null,
    sockets: null,
    cores: null,
    threads: null,
    load: null,
    memoryTotal: null,
    memoryUsed: null,
    swapTotal: null,
    swapUsed: null,
    processorsText: '-',
    memoryTotalText: '-',
    resources: [],
    queues: [],
    jobs: [],
  };
}

export function aRow(job: number, tasks: string | null = null): ListedJob {
  return {
    job,
    tasks,
    name: 'name',
    owner: 'owner',
    project: null,
    department: null,
    state: 'r',
    list: 'running',
    priority: null,
    startedAt: null,
    submittedAt: null,
    queueInstance: null,
    role: '',
    slots: 1,
    requests: [],
    requestedPe: null,
    requestedSlots: null,
    grantedPe: null,
    cpuSeconds: null,
    memoryGbSeconds: null,
    ioGb: null,
  };
}

export function aDetail(job: number, rss = 1): JobDetail {
  const task: TaskDetail = { task: 1, status: null, startedAt: null, usage: new Map([['rss', rss]]), peTasks: [] };
  return {
    job,
    name: 'name',
    owner: 'owner',
    uid: '1000',
    group: null,
    project: null,
    department: null,
    account: null,
    submittedAt: null,
    notBefore: null,
    reservation: null,
    submitCommand: null,
    wantsMail: false,
    predecessors: [],
    taskPredecessors: [],
    requests: [],
    pe: null,
    array: false,
    tasks: [task],
    messages: [],
  };
}

/** The answer to a query. */
export interface Reply {
  readonly items?: readonly unknown[];
  readonly problem?: string;
  readonly unreachable?: boolean;
  readonly unknownJobs?: readonly string[];
  readonly dialect?: Dialect;
  readonly tookMs?: number;
}

export type Answering = (client: string, args: readonly string[]) => Reply | Promise<Reply>;

/** The item that each piece stands for. */
const items = new WeakMap<Uint8Array, unknown>();
function reading(onItem: (item: never) => void): AnswerReader {
  return {
    write: (piece) => onItem(items.get(piece) as never),
    end: () => ({ state: 'complete', said: null, dialect: 'unknown', unknownJobs: [] }),
  };
}

export const ITEM_READERS: Readers = { qhost: reading, jobList: reading, jobDetails: reading };

export interface FakeQmaster {
  readonly tools: PollTools;
  /** All queries so far: `qstat -j 1,2 -xml`. */
  readonly asked: string[];
  /** ms since the epoch, as the poller sees it. */
  now: number;
}

/** Replaces the Grid Engine clients; its time moves only when a test sets it. */
export function fakeQmaster(answering: Answering): FakeQmaster {
  const asked: string[] = [];
  const run: RunClient = async (client, args, reader): Promise<ClientAnswer> => {
    asked.push([client, ...args].join(' '));
    const reply = await answering(client, args);
    for (const item of reply.items ?? []) {
      const piece = new Uint8Array(1);
      items.set(piece, item);
      reader.write(piece);
    }
    return {
      end: { ...reader.end(), dialect: reply.dialect ?? 'unknown', unknownJobs: reply.unknownJobs ?? [] },
      problem: reply.problem ?? null,
      unreachable: reply.unreachable ?? false,
      tookMs: reply.tookMs ?? 1,
    };
  };
  const fake: FakeQmaster = {
    asked,
    now: 1_000_000_000_000,
    tools: { run, readers: ITEM_READERS, now: () => fake.now },
  };
  return fake;
}

/** A healthy cluster of one host with these jobs. */
export function healthy(jobs: () => readonly number[], dialect: Dialect = 'sge8.1.9'): Answering {
  return (client, args) => {
    if (client === 'qhost') return { items: [aHost('node01')], dialect };
    if (args[0] === '-j') {
      const ids = (args[1] ?? '').split(',').map(Number);
      return { items: ids.map((id) => aDetail(id)), dialect };
    }
    if (args[3] === 'p') return { items: [aRow(900)], dialect };
    return { items: jobs().map((id) => aRow(id)), dialect };
  };
}
