import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { recordOfJson, type Bracket, type JobRecord } from '../../src/record/record';
import { proveKernelEvents } from '../../src/sources/events/prove-kernel-events';
import { readText } from '../../src/sources/files';
import { isUnavailable } from '../../src/sources/source';
import { burner, burnersObstacle, readTruth, type BurnerProgram, type Truth } from '../burners/build';
import { clusterObstacle, upCell, type Cell, type UpOptions } from './cell';
import { installProduct, type Product, type ProductOptions } from './product';
import { PATIENCE_MS, until } from '../support/until';

/** A cell with the product installed. */
export interface Site {
  readonly cell: Cell;
  readonly product: Product;
}

/** How long to wait for a cell that another test file is using. */
const WAIT_FOR_CELL_MS = 600_000;
const MIB = 1024 * 1024;

/** Why tests with jobs and burners can't run on this machine; null: they can. */
export function siteObstacle(): string | null {
  return clusterObstacle() ?? burnersObstacle();
}

/** Brings a site up, runs `body` on it and takes it down; skips the test, with the reason, if no site can run here. */
export async function withSite(
  t: TestContext,
  options: UpOptions & ProductOptions,
  body: (site: Site) => Promise<void>,
): Promise<void> {
  const obstacle = siteObstacle();
  if (obstacle !== null) {
    t.skip(obstacle);
    return;
  }
  const cell = await upCell({ waitMs: WAIT_FOR_CELL_MS, ...options });
  try {
    await body({ cell, product: await installProduct(cell, options) });
  } finally {
    await cell.down();
  }
}

/** Command line of a burner that writes its truth to this file in the user's home, which the job's shell expands. */
export function burnerCommand(
  name: BurnerProgram,
  truth: string,
  options: Readonly<Record<string, number | string>>,
): string {
  const words = Object.entries(options).map(([key, value]) => `--${key}=${value}`);
  return `${burner(name)} ${words.join(' ')} --truth="$HOME/${truth}"`;
}

/** A file in a user's home that a job waits for: the test decides when the job goes on. */
export interface Gate {
  /** For a burner's option `until`; the job's shell expands it. */
  readonly path: string;
  /** A shell command that ends when the gate opens, after ten minutes at the latest. */
  readonly wait: string;
  readonly open: () => void;
}

export function gateFor(cell: Cell, user: string, name: string): Gate {
  const path = `$HOME/${name}.gate`;
  return {
    path,
    wait: `for i in $(seq 1200); do [ -e "${path}" ] && break; sleep 0.5; done`,
    open: () => writeFileSync(`${cell.layout.home(user)}/${name}.gate`, ''),
  };
}

/** The live records with samples of a job's tasks; a task's record is removed when the task ends. */
function liveRecords(cell: Cell, job: string): readonly JobRecord[] {
  return cell.execHosts.flatMap((host) => {
    const live = join(cell.productDir(host, '/run/qmemacct'), 'live');
    if (!existsSync(live)) return [];
    return readdirSync(live).flatMap((name) => {
      const record = recordOfJson(readText(join(live, name)) ?? '');
      if (!record.ok || String(record.value.job_id) !== job) return [];
      return (record.value.samples ?? 0) > 0 ? [record.value] : [];
    });
  });
}

/** Whether a job that runs, or one of its tasks, has been sampled. */
export function isSampled(cell: Cell, job: string): boolean {
  return liveRecords(cell, job).length > 0;
}

/** Waits until `count` tasks of a job have live records that are as wanted; default: any with samples. */
export async function awaitFigures(
  cell: Cell,
  job: string,
  isWanted: (record: JobRecord) => boolean = () => true,
  count = 1,
): Promise<void> {
  await until(
    () => liveRecords(cell, job).filter(isWanted).length >= count,
    () => `figures of ${count} tasks of job ${job}: ${JSON.stringify(liveRecords(cell, job))}`,
    100,
  );
}

/** For awaitFigures(): whether a sample has shown at least this much resident memory. */
export const holds =
  (bytes: number) =>
  ({ peak_rss: peak }: JobRecord): boolean =>
    (peak?.lower_bytes ?? 0) >= bytes;

/** Why the kernel's events can't be heard on this machine; null: they can. */
export async function eventsObstacle(): Promise<string | null> {
  const { processEvents, exitRecords } = await proveKernelEvents(null);
  for (const state of [processEvents, exitRecords]) if (isUnavailable(state)) return state.unavailable;
  return null;
}

/** For a burner that a gate ends: how long it holds its memory if the gate stays shut. */
export const LONGEST_HOLD_MS = PATIENCE_MS;

/** The truth that a job's burner wrote to this file in the user's home. */
export function truthOf(cell: Cell, user: string, file: string): Truth {
  const [truth] = readTruth(`${cell.layout.home(user)}/${file}`);
  assert.ok(truth !== undefined, `${file}: the burner left no truth`);
  return truth;
}

/** At most this much memory is held by the job's processes beside the burner: its shell and the starter. */
const JOB_OVERHEAD = 24 * MIB;

/** Asserts that the bracket holds the truth (in bytes, known to within `uncertainty`), from `atLeastShare` of it on. */
export function assertHolds(bracket: Bracket | null, truth: number, uncertainty: number, atLeastShare = 0): void {
  assert.ok(bracket !== null, 'no bracket');
  assert.ok(
    bracket.lower_bytes <= truth + uncertainty + JOB_OVERHEAD,
    `lower end ${bracket.lower_bytes} is above the truth ${truth} + ${uncertainty}`,
  );
  assert.ok(
    bracket.lower_bytes >= truth * atLeastShare,
    `lower end ${bracket.lower_bytes} is below ${atLeastShare} of the truth ${truth}`,
  );
  if (bracket.upper_bytes !== null)
    assert.ok(bracket.upper_bytes >= truth, `upper end ${bracket.upper_bytes} is below the truth ${truth}`);
  else assert.ok(bracket.open.length > 0, 'an open end without a reason');
}

/** Asserts that no queue instance has a state letter, such as E. */
export async function assertNoQueueErrors(cell: Cell): Promise<void> {
  for (const [queue, states] of await cell.queueStates()) assert.equal(states, '', `${queue} is in state ${states}`);
}

/** Bytes of so many MiB. */
export const mib = (count: number): number => count * MIB;
