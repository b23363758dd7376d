import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { asStored, mergeRecords } from '../../src/record/merge';
import type { StoredRecord } from '../../src/record/merge';
import { recordKeyText } from '../../src/record/record';
import type { GridEngineAccount, JobRecord } from '../../src/record/record';
import { accountingLineOf, heartbeatOf, realisticRecords } from './realistic-record';
import { lineOf, startDeliverer } from './run-deliverer';
import type { DeliveredRow } from './run-deliverer';

/**
 * Nodes that deliver to one store through real deliverer processes, as samplers do: the node's next process delivers
 * rows without an answer again. Deliverers are killed at random.
 */
export interface Fire {
  /** The deliverers' arguments that name the store. */
  readonly args: readonly string[];
  /** The deliveries of each node; a delivery is records that are handed over at once. */
  readonly nodes: readonly (readonly (readonly JobRecord[])[])[];
  readonly random: () => number;
  /** At most so many deliverers get a SIGKILL. */
  readonly kills: number;
  /** Called for each confirmed row, and below for each line on a deliverer's stderr. */
  readonly onConfirmed: (confirmed: number, of: number) => void;
  readonly onComplaint: (complaint: string) => void;
  /** The share of all rows that may have been handed over by now; rows whose answers will be lost don't count. */
  readonly mostHanded: () => number;
}

export interface Ashes {
  readonly deliverers: number;
  readonly killed: number;
  /** Killed deliverers with rows that were not answered. */
  readonly killedAtWork: number;
  /** Killed deliverers whose answers were lost: rows that are in the store are delivered again. */
  readonly answersLost: number;
  /** Rows that a deliverer gave back at the end of its patience. */
  readonly setBack: number;
  readonly refused: readonly DeliveredRow[];
}

/** The longest time between two deliveries of a node, and below between the last delivery and the SIGKILL. */
const LULL_MS = 60;
const FUSE_MS = 30;
const RESTART_MS = 50;

export async function underFire(fire: Fire): Promise<Ashes> {
  const { random } = fire;
  const all = fire.nodes.flat(2).length;
  let confirmed = 0;
  let handed = 0;
  let deliverers = 0;
  let doomed = 0;
  let killed = 0;
  let killedAtWork = 0;
  let answersLost = 0;
  let setBack = 0;
  const refused: DeliveredRow[] = [];

  async function play(deliveries: readonly (readonly JobRecord[])[]): Promise<void> {
    const ahead = [...deliveries];
    const outbox = new Map<number, JobRecord>();
    let rows = 0;
    while (ahead.length > 0 || outbox.size > 0) {
      deliverers++;
      const { process: child, finished } = startDeliverer([...fire.args, '--patience', '60']);
      const isDoomed = doomed < fire.kills && random() < 0.7;
      if (isDoomed) doomed++;
      // Now and then the answers are lost as well, as if the sampler died with its deliverer.
      const losesAnswers = isDoomed && random() < 0.3;
      const lastDelivery = isDoomed ? Math.floor(random() * Math.max(1, ahead.length)) : Infinity;
      const lost = new Set<number>();
      const confirm = (id: number): void => {
        if (outbox.delete(id)) fire.onConfirmed(++confirmed, all);
      };
      const lose = (id: number): void => {
        lost.add(id);
        handed--;
      };
      const heard = new Promise<void>((resolve) => {
        createInterface({ input: child.stdout }).on('line', (line) => {
          const row = JSON.parse(line) as DeliveredRow;
          if (row.ok && row.id !== null) (losesAnswers ? lose : confirm)(row.id);
          else if (row.retry === true) setBack++;
          else refused.push(row);
          resolve();
        });
        void finished.then(() => {
          resolve();
        });
      });
      createInterface({ input: child.stderr }).on('line', fire.onComplaint);
      const hand = (given: Iterable<readonly [number, JobRecord]>): void => {
        child.stdin.write([...given].map(([id, record]) => lineOf(id, record)).join(''));
      };
      const handNext = (): void => {
        const added = (ahead.shift() ?? []).map((record) => [rows++, record] as const);
        for (const [id, record] of added) outbox.set(id, record);
        handed += added.length;
        hand(added);
      };
      if (outbox.size > 0) hand(outbox);
      else handNext();
      for (let given = 0; ; given++) {
        if (given >= lastDelivery) setTimeout(() => child.kill('SIGKILL'), random() * FUSE_MS);
        if (given === 0) await heard;
        else await sleep(random() * LULL_MS);
        const isOver = (): boolean => ahead.length === 0 || child.exitCode !== null || child.signalCode !== null;
        while (!isOver() && handed > fire.mostHanded() * all) await sleep(random() * LULL_MS);
        if (isOver()) break;
        handNext();
      }
      child.stdin.end();
      const { status } = await finished;
      handed += lost.size;
      if (status === null) {
        killed++;
        if (outbox.size > lost.size) killedAtWork++;
        if (lost.size > 0) answersLost++;
      } else lost.forEach(confirm);
      if (outbox.size > 0) await sleep(RESTART_MS * random());
    }
  }

  await Promise.all(fire.nodes.map(play));
  return { deliverers, killed, killedAtWork, answersLost, setBack, refused };
}

/** Grid Engine's account in the line, by which a line is recognised when it is imported again. */
function accountOf({ wallclock_seconds, cpu_seconds }: JobRecord): GridEngineAccount {
  return {
    wallclock_seconds: Math.floor(wallclock_seconds ?? 0),
    cpu_seconds: cpu_seconds ?? 0,
    user_seconds: cpu_seconds,
    system_seconds: 0,
    maxvmem_bytes: null,
    maxrss_bytes: null,
    mem_gib_seconds: 0,
    io_gib: 0,
    category: null,
    submit_command: null,
    deleted_by: null,
    lines: 1,
  };
}

function importedLine(line: JobRecord): JobRecord {
  return { ...line, run_id: `accounting.${Math.floor(Date.parse(line.started_at ?? '') / 1000)}` };
}

/**
 * `perNode` deliveries of each of `nodes` nodes, and the records that a store must have in the end. For some jobs
 * several nodes deliver records, in any order: a heartbeat, the end, the accounting line, also under the run id that an
 * import gives it.
 */
export function deliveriesOf(
  nodes: number,
  perNode: number,
  random: () => number,
): { readonly nodes: Fire['nodes']; readonly expected: ReadonlyMap<string, StoredRecord> } {
  const { next } = realisticRecords(Math.floor(random() * 1e6));
  const deliveries = Array.from({ length: nodes }, () => Array.from({ length: perNode }, (): JobRecord[] => []));
  const expected = new Map<string, StoredRecord>();
  const anyOf = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  /** `delivered`: the record as it is handed over, if its key differs from the one in the end. */
  const give = (delivery: JobRecord[], record: JobRecord, delivered = record): void => {
    delivery.push(delivered);
    const key = recordKeyText(record);
    const present = expected.get(key);
    expected.set(key, present === undefined ? asStored(record) : mergeRecords(present, asStored(record)));
  };
  for (const delivery of deliveries.flat()) {
    const record = next();
    give(delivery, record);
    if (random() < 0.3) give(anyOf(anyOf(deliveries)), heartbeatOf(record));
    const choice = random();
    if (choice < 0.3) give(anyOf(anyOf(deliveries)), accountingLineOf(record));
    else if (choice < 0.6) {
      const line = { ...accountingLineOf(record), grid_engine: accountOf(record) };
      give(anyOf(anyOf(deliveries)), line, importedLine(line));
    }
    if (random() < 0.1) give(anyOf(anyOf(deliveries)), record);
  }
  return { nodes: deliveries, expected };
}
