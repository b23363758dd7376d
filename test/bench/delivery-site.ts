import { subscribe } from 'node:diagnostics_channel';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NodeStore } from '../../src/sampler/node-store/node-store';
import { deliverOutbox } from '../../src/sampler/delivery/outbox-feeder';
import { recordKeyText } from '../../src/record/record';
import { childrenCpuMs } from './process-cost';
import type { JobRecord } from '../../src/record/record';
import { DEFAULT_SETTINGS } from '../../src/record/settings';
import type { Settings } from '../../src/record/settings';
import { realisticRecords, seededRandom } from '../accounting/realistic-record';

/**
 * A process that plays many nodes of a site: each has a state directory with its own node.db, finishes its jobs at a
 * random moment of the window, and delivers as the sampler does, by the sampler's own code, through a deliverer
 * process of its own. Started with an IPC channel: takes an Order, sends "ready", begins at "go", sends an Account.
 */
export interface Order {
  readonly directory: string;
  readonly settings: Partial<Settings>;
  /** Numbers of the nodes. */
  readonly first: number;
  readonly nodes: number;
  readonly recordsPerNode: number;
  /** Deliverers of this process that are alive at once. */
  readonly most: number;
  /** Share of the deliverers that get a SIGKILL within their first second. */
  readonly killed: number;
}

export interface Go {
  readonly at: number;
  readonly windowMs: number;
}

/** Times: ms since the epoch. */
export interface NodeAccount {
  readonly finished: number;
  readonly delivered: number;
}

export interface Account {
  readonly nodes: readonly NodeAccount[];
  readonly deliverers: number;
  readonly killed: number;
  /** Why deliveries were tried again, and how often. */
  readonly problems: Readonly<Record<string, number>>;
  /** CPU time in ms of this process, which plays the samplers, and of the deliverers. */
  readonly feedersCpu: number;
  readonly deliverersCpu: number;
}

const PATIENCE_SECONDS = 1800;
/** The records of the jobs of node `node`: the same at every call. */
export function recordsOfNode(node: number, count: number): readonly JobRecord[] {
  const { next } = realisticRecords(node + 1);
  // Each node's generator begins with the same job number.
  return Array.from({ length: count }, next).map((record) => ({ ...record, job_id: record.job_id + node * 100 }));
}

/** At most `most` steps at once. */
function gate(most: number): <T>(step: () => Promise<T>) => Promise<T> {
  let free = most;
  const waiting: (() => void)[] = [];
  return async (step) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await step();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}

async function play(order: Order, go: Promise<Go>): Promise<Account> {
  const random = seededRandom(order.first + 1);
  const numbers = Array.from({ length: order.nodes }, (_unused, index) => order.first + index);
  const stateOf = (node: number): string => join(order.directory, `node${node}`);
  for (const node of numbers) {
    mkdirSync(stateOf(node), { mode: 0o711 });
    new NodeStore(stateOf(node)).close();
  }
  let deliverers = 0;
  let killed = 0;
  const problems: Record<string, number> = {};
  subscribe('child_process', (message) => {
    const { process: child } = message as { readonly process: ChildProcess };
    deliverers++;
    if (random() >= order.killed) return;
    setTimeout(() => {
      if (child.exitCode === null && child.kill('SIGKILL')) killed++;
    }, random() * 1000);
  });
  process.send?.('ready');
  const { at, windowMs } = await go;
  const cpuBefore = process.cpuUsage();
  const childrenBefore = childrenCpuMs(process.pid);
  const through = gate(order.most);
  const nodes = await Promise.all(
    numbers.map(async (node): Promise<NodeAccount> => {
      await sleep(at + random() * windowMs - Date.now());
      const finished = Date.now();
      const store = new NodeStore(stateOf(node));
      for (const record of recordsOfNode(node, order.recordsPerNode))
        store.finish(recordKeyText(record), finished, record, []);
      const settings = { ...DEFAULT_SETTINGS, ...order.settings, state_dir: stateOf(node) };
      await through(async () => {
        for (let left = true; left;) {
          const outcome = await deliverOutbox(store, settings, PATIENCE_SECONDS);
          if (outcome.problem !== null) problems[outcome.problem] = (problems[outcome.problem] ?? 0) + 1;
          left = outcome.left > 0;
        }
      });
      store.close();
      return { finished, delivered: Date.now() };
    }),
  );
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    nodes,
    deliverers,
    killed,
    problems,
    feedersCpu: (user + system) / 1000,
    deliverersCpu: childrenCpuMs(process.pid) - childrenBefore,
  };
}

function main(): void {
  let begin: (go: Go) => void = () => undefined;
  const go = new Promise<Go>((resolve) => (begin = resolve));
  process.on('message', (message: Order | Go) => {
    if ('at' in message) begin(message);
    else
      void play(message, go).then((account) => {
        process.send?.(account, () => {
          process.exit(0);
        });
      });
  });
  process.on('disconnect', () => {
    process.exit(1);
  });
}

if (require.main === module) main();
