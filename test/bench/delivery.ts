import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { openPostgresReader } from '../../src/accounting/postgres/postgres-store';
import { openSqliteReader } from '../../src/accounting/sqlite/sqlite-store';
import type { AccountingReader } from '../../src/accounting/store';
import type { JobRecord } from '../../src/record/record';
import type { Settings } from '../../src/record/settings';
import { noPostgres, startServer } from '../accounting/postgres/server';
import { seededRandom } from '../accounting/realistic-record';
import { lineOf, startDeliverer, UNPRIVILEGED } from '../accounting/run-deliverer';
import type { DeliveredRow } from '../accounting/run-deliverer';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { recordsOfNode } from './delivery-site';
import type { Account, Go, Order } from './delivery-site';
import { quantile, sum } from './statistics';
import { temporaryDirectory } from '../support/temporary-directory';
import { samplerFlags } from '../../src/base/node-flags';

/** A whole site's nodes finish their jobs within ten seconds: how long until the store has every record, once. */

const WINDOW_MS = 10_000;
const RECORDS_PER_NODE = 4;
/** Processes that play nodes, and the deliverers alive at once of all of them: each takes 15 MiB. */
const PLAYERS = 8;
const MOST_DELIVERERS = 160;
const KILLED = 0.02;
/** Deliverers that keep running, to measure the store alone. */
const POOL = 100;

/** One store to deliver into. */
interface Target {
  readonly name: string;
  readonly settings: Partial<Settings>;
  /** The deliverers' arguments. */
  readonly args: readonly string[];
  readonly reader: () => AccountingReader;
  readonly stop: () => Promise<void>;
}

interface Measured {
  /** ms from the first node's end until the last record is stored. */
  readonly ms: number;
  /** ms until the records of each node are stored. */
  readonly waits: readonly number[];
  readonly notes: readonly string[];
  readonly cpu: readonly Row[];
}

function sqliteTarget(directory: string): Target {
  const place = join(directory, 'accounting');
  mkdirSync(place, { mode: 0o755 });
  if (UNPRIVILEGED.uid !== undefined) chownSync(place, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
  const path = join(place, 'accounting.db');
  return {
    name: 'SQLite',
    settings: { accounting: path },
    args: ['--accounting', path],
    reader: () => openSqliteReader(path),
    stop: () => Promise.resolve(),
  };
}

async function postgresTarget(): Promise<Target> {
  const server = await startServer({ settings: ['max_connections = 300', 'fsync = on'] });
  // Lets the deliverers, which run as nobody, reach the socket.
  chmodSync(server.directory, 0o711);
  const database = await server.database();
  await server.run(database, 'CREATE ROLE hooks LOGIN IN ROLE qmemacct_deliver');
  const url = server.url(database, 'hooks');
  return {
    name: 'PostgreSQL',
    settings: { accounting: url },
    args: ['--accounting', url],
    reader: () => openPostgresReader(server.url(database)),
    stop: () => server.remove(),
  };
}

const TARGETS: readonly ((directory: string) => Target | Promise<Target>)[] = [
  sqliteTarget,
  ...(noPostgres === false ? [postgresTarget] : []),
];

/** Throws where a record is missing, doubled or different. */
async function requireAll(target: Target, nodes: number): Promise<void> {
  const reader = target.reader();
  for (let node = 0; node < nodes; node++)
    for (const record of recordsOfNode(node, RECORDS_PER_NODE)) {
      const { records } = await reader.job({ job_id: record.job_id, all: true });
      const found = records.map((attempt) => attempt.record).filter(({ run_id }) => run_id === record.run_id);
      if (!isDeepStrictEqual(found, [record]))
        throw new Error(
          `${target.name}: job ${record.job_id} of node ${node} is there ${found.length} times or another`,
        );
    }
  await reader.close();
}

/** Every node with its node.db and a deliverer process that it starts. */
async function asInRealLife(target: Target, directory: string, nodes: number): Promise<Measured> {
  const each = Math.ceil(nodes / PLAYERS);
  const players = Array.from({ length: PLAYERS }, (_unused, index) => {
    const child = fork(join(__dirname, 'delivery-site.js'), { execArgv: [...samplerFlags()] });
    const order: Order = {
      directory,
      settings: target.settings,
      first: index * each,
      nodes: Math.min(each, nodes - index * each),
      recordsPerNode: RECORDS_PER_NODE,
      most: MOST_DELIVERERS / PLAYERS,
      killed: KILLED,
    };
    const ready = once(child, 'message');
    child.send(order);
    return { child, ready };
  });
  try {
    await Promise.all(players.map(({ ready }) => ready));
    const go: Go = { at: Date.now() + 200, windowMs: WINDOW_MS };
    const accounts = await Promise.all(
      players.map(async ({ child }) => {
        child.send(go);
        const [account] = (await Promise.race([
          once(child, 'message'),
          once(child, 'exit').then(() => {
            throw new Error('a process that plays nodes has ended early');
          }),
        ])) as [Account];
        return account;
      }),
    );
    const all = accounts.flatMap((account) => account.nodes);
    const problems = new Map<string, number>();
    for (const account of accounts)
      for (const [problem, times] of Object.entries(account.problems))
        problems.set(problem, (problems.get(problem) ?? 0) + times);
    const deliverers = sum(accounts.map((account) => account.deliverers));
    return {
      ms: Math.max(...all.map(({ delivered }) => delivered)) - Math.min(...all.map(({ finished }) => finished)),
      waits: all.map(({ finished, delivered }) => delivered - finished),
      cpu: [
        {
          what: "deliverer's CPU, its start and end with it",
          unit: 'ms',
          values: [sum(accounts.map(({ deliverersCpu }) => deliverersCpu)) / deliverers],
        },
        {
          what: "node's CPU: node.db, feeding",
          unit: 'ms',
          values: [sum(accounts.map(({ feedersCpu }) => feedersCpu)) / nodes],
        },
      ],
      notes: [
        `${deliverers} deliverers for ${nodes} nodes, ${sum(accounts.map(({ killed }) => killed))} of them killed; at ` +
          `most ${MOST_DELIVERERS} at once, since here they share one machine.`,
        ...[...problems].map(([problem, times]) => `${times} x ${problem}`),
      ],
    };
  } finally {
    for (const { child } of players) child.kill();
  }
}

/** The store alone: deliverers that run already, each transaction with one node's records. */
async function throughPool(target: Target, nodes: number, windowMs: number): Promise<Measured> {
  const random = seededRandom(nodes);
  const complaints = new Map<string, number>();
  const waits: number[] = [];
  const queue = Array.from({ length: nodes }, (_unused, node) => ({ node, at: random() * windowMs }));
  queue.sort((a, b) => a.at - b.at);
  const deliverers = Array.from({ length: POOL }, () => startDeliverer([...target.args, '--patience', '600']));
  for (const { process: child } of deliverers)
    createInterface({ input: child.stderr }).on('line', (line) => {
      complaints.set(line, (complaints.get(line) ?? 0) + 1);
    });
  const hear = deliverers.map(({ process: child }) => createInterface({ input: child.stdout })[Symbol.asyncIterator]());
  const hand = async (index: number, records: readonly JobRecord[]): Promise<void> => {
    deliverers[index]?.process.stdin.write(records.map((record, id) => lineOf(id, record)).join(''));
    for (const { job_id } of records) {
      const line = await hear[index]?.next();
      const row = line?.done === false ? (JSON.parse(line.value) as DeliveredRow) : null;
      if (row?.ok !== true) throw new Error(`job ${job_id}: a deliverer said ${row?.error ?? 'nothing'}`);
    }
  };
  let ms: number;
  try {
    // All run, and have opened the store.
    await Promise.all(deliverers.map((_unused, index) => hand(index, recordsOfNode(0, 1))));
    const began = performance.now();
    await Promise.all(
      deliverers.map(async (_unused, index) => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
          const records = recordsOfNode(next.node, RECORDS_PER_NODE);
          await sleep(Math.max(0, began + next.at - performance.now()));
          await hand(index, records);
          waits.push(performance.now() - (began + next.at));
        }
      }),
    );
    ms = performance.now() - began;
    for (const { process: child } of deliverers) child.stdin.end();
    await Promise.all(deliverers.map(({ finished }) => finished));
  } finally {
    for (const { process: child } of deliverers) child.kill();
  }
  return {
    ms,
    waits,
    cpu: [],
    notes: [...complaints].map(([complaint, times]) => `${times} x ${complaint}`),
  };
}

function section(title: string, nodes: number, { ms, waits, cpu, notes }: Measured): Section {
  const rows: readonly Row[] = [
    { what: `${nodes} nodes, ${nodes * RECORDS_PER_NODE} records: all are in after`, unit: 's', values: [ms / 1000] },
    { what: 'records', unit: 'records/s', values: [(nodes * RECORDS_PER_NODE * 1000) / ms] },
    { what: "a node's wait, half of them", unit: 's', values: [quantile(waits, 0.5) / 1000] },
    { what: "a node's wait, 99 %", unit: 's', values: [quantile(waits, 0.99) / 1000] },
    { what: "a node's wait, the longest", unit: 's', values: [Math.max(...waits) / 1000] },
    ...cpu,
  ];
  return { title, rows, notes: [...notes, 'Every record was there once, and as it was sent.'] };
}

interface Way {
  readonly name: string;
  readonly measure: (target: Target, directory: string, nodes: number) => Promise<Measured>;
}

const WAYS: readonly Way[] = [
  {
    name: `the store alone: a pool of ${POOL} deliverers plays the nodes, a transaction each, all at the same moment`,
    measure: (target, _directory, nodes) => throughPool(target, nodes, 0),
  },
  {
    name: `the store alone: the same pool, within ${WINDOW_MS / 1000} s`,
    measure: (target, _directory, nodes) => throughPool(target, nodes, WINDOW_MS),
  },
  {
    name: `whole nodes, each with its node.db and deliverers of its own, within ${WINDOW_MS / 1000} s`,
    measure: asInRealLife,
  },
];

async function run({ quick, progress }: BenchOptions): Promise<readonly Section[]> {
  const nodes = quick ? 200 : 2000;
  const sections: Section[] = [];
  for (const make of TARGETS)
    for (const { name, measure } of WAYS) {
      // Lets the deliverers, which run as nobody, reach the store.
      const directory = temporaryDirectory(0o711);
      const target = await make(directory);
      try {
        progress(`delivery into ${target.name}: ${name}`);
        const measured = await measure(target, directory, nodes);
        await requireAll(target, nodes);
        sections.push(section(`delivery into ${target.name}, ${name}`, nodes, measured));
      } finally {
        await target.stop();
      }
    }
  return sections;
}

export const deliveryBench: Bench = {
  name: 'delivery',
  about: 'a whole site delivers within ten seconds: time, tries, waits, CPU',
  run,
};
