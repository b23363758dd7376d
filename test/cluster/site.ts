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

/** For a cell that another test file is using. */
const WAIT_MS = 600_000;
const MIB = 1024 * 1024;

/** Why the tests on a real cluster can't run here; null: they can. */
export function siteObstacle(): string | null {
  return clusterObstacle() ?? burnersObstacle();
}

/** Brings a site up, runs `body` on it, takes it down; skips, with the reason, where none can run. */
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
  const cell = await upCell({ waitMs: WAIT_MS, ...options });
  try {
    await body({ cell, product: await installProduct(cell, options) });
  } finally {
    await cell.down();
  }
}

/** Command line of a burner that leaves its truth in the user's home; `~` is the job's shell's affair. */
export function burnerCommand(
  name: BurnerProgram,
  truth: string,
  options: Readonly<Record<string, number | string>>,
): string {
  const words = Object.entries(options).map(([key, value]) => `--${key}=${value}`);
  return `${burner(name)} ${words.join(' ')} --truth="$HOME/${truth}"`;
}

/** A file in a user's home that a job waits for. */
export interface Word {
  /** For a burner's option `until`; the job's shell expands it. */
  readonly path: string;
  /** A command that ends when the word is given, after ten minutes at the latest. */
  readonly wait: string;
  readonly give: () => void;
}

export function wordFor(cell: Cell, user: string, name: string): Word {
  const path = `$HOME/${name}.word`;
  return {
    path,
    wait: `for i in $(seq 1200); do [ -e "${path}" ] && break; sleep 0.5; done`,
    give: () => writeFileSync(`${cell.layout.home(user)}/${name}.word`, ''),
  };
}

/** The live figures of a job's tasks that have samples; each goes with its task. */
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

/** Whether the live figures of a job, or of one of its tasks, have samples. */
export function isSampled(cell: Cell, job: string): boolean {
  return liveRecords(cell, job).length > 0;
}

/** Waits until so many tasks of a job have live figures like these; without a word: any that have samples. */
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

/** The job has been seen to hold this much. */
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

/** How long a burner holds that is to end by a word. */
export const UNTIL_TOLD = PATIENCE_MS;

/** The truth that a burner of a job left. */
export function truthOf(cell: Cell, user: string, file: string): Truth {
  const [truth] = readTruth(`${cell.layout.home(user)}/${file}`);
  assert.ok(truth !== undefined, `${file}: the burner left no truth`);
  return truth;
}

/** The job's shell and the starter around a burner. */
const AROUND = 24 * MIB;

/** A bracket that holds: what it claims is true of the burner and of the little around it. */
export function assertHolds(bracket: Bracket | null, truth: number, uncertainty: number, atLeastShare = 0): void {
  assert.ok(bracket !== null, 'no bracket');
  assert.ok(
    bracket.lower_bytes <= truth + uncertainty + AROUND,
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

/** Every queue instance is free of errors. */
export async function assertQueuesWell(cell: Cell): Promise<void> {
  for (const [queue, states] of await cell.queueStates()) assert.equal(states, '', `${queue} is in state ${states}`);
}

export const mib = (bytes: number): number => bytes * MIB;
