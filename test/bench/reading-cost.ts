import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { BenchOptions, Row, Section } from './bench';
import { compile } from './compile';
import { psutilCommand, psutilObstacle } from './rivals';
import { temporaryDirectory } from '../support/temporary-directory';
import { FULL_MODE, SMALL_MODE } from './node-modes';

/** What reading and parsing one process costs (statm and status), ours beside a C loop, block by block. */

/** Blocks that only warm up the just-in-time compiler. */
const WARM_UP = 5;

interface Loop {
  readonly name: string;
  /** CPU nanoseconds for one process; rejects when the loop has ended. */
  block(): Promise<number>;
  close(): Promise<void>;
}

function startLoop(name: string, argv: readonly string[]): Loop {
  const [program = '', ...words] = argv;
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'] });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2000);
  });
  const waiting: { readonly take: (nanoseconds: number) => void; readonly fail: (error: Error) => void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) =>
    waiting.shift()?.take((JSON.parse(line) as { readonly ns: number }).ns),
  );
  child.stdin.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => {
      for (const { fail } of waiting.splice(0)) fail(new Error(`${name} ended early: ${complaint.trim()}`));
      resolve();
    });
  });
  return {
    name,
    block: () =>
      new Promise((take, fail) => {
        waiting.push({ take, fail });
        child.stdin.write('\n');
      }),
    close: () => {
      child.stdin.end();
      return closed;
    },
  };
}

/** `pids`: processes that live until the measurement ends. */
export async function readingCost(pids: readonly number[], options: BenchOptions): Promise<Section> {
  const title = `reading one process (statm + status, kept descriptors), over ${pids.length} processes`;
  const directory = temporaryDirectory();
  const blocks = options.quick ? 10 : 40;
  // A block of the fastest reader takes some 20 ms.
  const rounds = String(Math.max(1, Math.round(10_000 / pids.length)));
  const words = [rounds, ...pids.map(String)];
  const loops: Loop[] = [];
  try {
    const script = join(__dirname, 'read-loop.js');
    loops.push(startLoop('C loop', [compile('read-loop', directory), ...words]));
    loops.push(startLoop('ours, full mode', [process.execPath, ...FULL_MODE, script, ...words]));
    loops.push(startLoop('ours, small mode', [process.execPath, ...SMALL_MODE, script, ...words]));
    const psutil = psutilObstacle();
    const fewer = String(Math.max(1, Math.round(500 / pids.length)));
    if (psutil === null) loops.push(startLoop('psutil', psutilCommand('cost', fewer, ...pids.map(String))));

    const costs = loops.map(() => [] as number[]);
    for (let block = -WARM_UP; block < blocks; block++) {
      options.progress(`sampler: reading, block ${block} of ${blocks}`);
      for (const [index, loop] of loops.entries()) {
        const nanoseconds = await loop.block();
        if (block >= 0) costs[index]?.push(nanoseconds);
      }
    }
    const yardstick = costs[0] ?? [];
    const rows: Row[] = loops.map(({ name }, index) => ({ what: name, unit: 'ns', values: costs[index] ?? [] }));
    if (psutil !== null) rows.push({ what: 'psutil', unit: 'ns', values: [], note: psutil });
    for (const [index, { name }] of loops.entries()) {
      if (index === 0) continue;
      const values = (costs[index] ?? []).map((cost, block) => cost / (yardstick[block] ?? NaN));
      rows.push({
        what: `${name} / C loop`,
        unit: 'x',
        values,
        budget: index === 1 ? 'reading one process' : undefined,
      });
    }
    return { title, rows, notes: ['CPU time per process; ratios of blocks that ran one after the other.'] };
  } finally {
    await Promise.all(loops.map((loop) => loop.close()));
  }
}

/** Whether there is a C compiler. */
export function compilerObstacle(): string | null {
  const { error } = spawnSync(process.env.CC || 'cc', ['--version']);
  return error === undefined ? null : `no C compiler (${error.message})`;
}
