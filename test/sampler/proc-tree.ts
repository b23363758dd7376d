import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** One process of a made-up /proc. Memory in KiB, CPU in clock ticks. */
export interface FakeProcess {
  readonly ppid: number;
  readonly comm: string;
  readonly state: string;
  readonly start: number;
  /** PF_FORKNOEXEC. */
  readonly forked: boolean;
  /** PF_EXITING: it ends, and its memory has gone. */
  readonly exiting: boolean;
  /** Address of the stack: another one with each exec. */
  readonly stack: number;
  readonly threads: number;
  readonly rss: number;
  readonly anonymous: number;
  readonly swap: number;
  readonly size: number;
  readonly mark: number;
  readonly peak: number;
  readonly cpu: number;
  readonly childCpu: number;
  readonly faults: number;
  readonly childFaults: number;
  readonly read: number;
  readonly written: number;
  readonly groups: readonly number[];
  readonly uid: number;
}

const PLAIN: FakeProcess = {
  ppid: 1,
  comm: 'program',
  state: 'S',
  start: 1000,
  forked: false,
  exiting: false,
  stack: 140729103765056,
  threads: 1,
  rss: 1000,
  anonymous: 800,
  swap: 0,
  size: 5000,
  mark: 1000,
  peak: 5000,
  cpu: 0,
  childCpu: 0,
  faults: 1,
  childFaults: 0,
  read: 0,
  written: 0,
  groups: [],
  uid: 1001,
};

const FORKNOEXEC = 0x40;
const EXITING = 0x4;

function statText(pid: number, it: FakeProcess): string {
  const fields = [
    it.state,
    it.ppid,
    1,
    1,
    0,
    -1,
    (it.forked ? FORKNOEXEC : 0) + (it.exiting ? EXITING : 0),
    it.faults,
    it.childFaults,
    0,
    0,
    it.cpu,
    0,
    it.childCpu,
    0,
    20,
    0,
    it.threads,
    0,
    it.start,
    it.size * 1024,
    it.rss / 4,
    0,
    1,
    2,
    it.stack,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    17,
    0,
    0,
    0,
    0,
    0,
    0,
    5,
    6,
    7,
    it.stack === 0 ? 0 : it.stack + 99,
    9,
    9,
    9,
    0,
  ];
  return `${pid} (${it.comm}) ${fields.join(' ')}\n`;
}

function statusText(pid: number, it: FakeProcess, memory: boolean): string {
  const lines = [
    `Name:\t${it.comm}`,
    `State:\t${it.state}`,
    `Pid:\t${pid}`,
    `PPid:\t${it.ppid}`,
    `Uid:\t${it.uid}\t${it.uid}\t${it.uid}\t${it.uid}`,
    `Groups:\t${it.groups.join(' ')} `,
  ];
  if (memory)
    lines.push(
      `VmPeak:\t${it.peak} kB`,
      `VmSize:\t${it.size} kB`,
      `VmHWM:\t${it.mark} kB`,
      `VmRSS:\t${it.rss} kB`,
      `RssAnon:\t${it.anonymous} kB`,
      `RssFile:\t${it.rss - it.anonymous} kB`,
      'RssShmem:\t0 kB',
      `VmSwap:\t${it.swap} kB`,
    );
  return `${[...lines, `Threads:\t${it.threads}`].join('\n')}\n`;
}

export interface ProcTree {
  readonly root: string;
  /** Adds a process, or changes these properties of it. */
  set(pid: number, changes?: Partial<FakeProcess>): void;
  remove(pid: number): void;
}

/** A /proc of made-up processes in `root`. `listsChildren`: as a kernel with CONFIG_PROC_CHILDREN. */
export function procTree(root: string, listsChildren = true): ProcTree {
  const processes = new Map<number, FakeProcess>();

  function writeChildren(pid: number): void {
    if (!listsChildren || !processes.has(pid)) return;
    const children = [...processes].flatMap(([child, { ppid }]) => (ppid === pid ? [child] : []));
    writeFileSync(
      join(root, String(pid), 'task', String(pid), 'children'),
      children.map((child) => `${child} `).join(''),
    );
  }

  function write(pid: number, it: FakeProcess): void {
    const directory = join(root, String(pid));
    const leader = join(directory, 'task', String(pid));
    mkdirSync(leader, { recursive: true });
    const dead = it.state === 'Z' || it.exiting;
    writeFileSync(join(directory, 'stat'), statText(pid, it));
    writeFileSync(join(directory, 'status'), statusText(pid, it, !dead));
    writeFileSync(join(directory, 'statm'), dead ? '0 0 0 0 0 0 0\n' : `${it.size / 4} ${it.rss / 4} 1 1 0 1 0\n`);
    writeFileSync(
      join(directory, 'io'),
      `rchar: ${2 * it.read}\nwchar: ${2 * it.written}\nsyscr: 1\nsyscw: 1\nread_bytes: ${it.read}\nwrite_bytes: ${it.written}\n`,
    );
    for (let tid = pid + 1; tid < pid + it.threads; tid++) {
      mkdirSync(join(directory, 'task', String(tid)), { recursive: true });
      writeFileSync(join(directory, 'task', String(tid), 'status'), statusText(pid, it, true));
      if (listsChildren) writeFileSync(join(directory, 'task', String(tid), 'children'), '');
    }
  }

  const tree: ProcTree = {
    root,
    set: (pid, changes = {}) => {
      const before = processes.get(pid);
      const it = { ...(before ?? PLAIN), ...changes };
      processes.set(pid, it);
      write(pid, it);
      writeChildren(pid);
      writeChildren(it.ppid);
      if (before !== undefined && before.ppid !== it.ppid) writeChildren(before.ppid);
    },
    remove: (pid) => {
      const it = processes.get(pid);
      processes.delete(pid);
      rmSync(join(root, String(pid)), { recursive: true, force: true });
      if (it !== undefined) writeChildren(it.ppid);
    },
  };
  tree.set(1, { ppid: 0, comm: 'init', start: 1 });
  return tree;
}
