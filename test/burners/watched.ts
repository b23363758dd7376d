import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { burner, readTruth, type Burner, type Truth } from './build.js';
import { temporaryDirectory } from '../support/temporary-directory';

/** What watch.c saw of a burner's process tree. Bytes. */
export interface Watched {
  readonly status: number;
  readonly late: boolean;
  readonly orphans: number;
  readonly longest_gap_ms: number;
  readonly all_rss: number;
  readonly all_vmsize: number;
  readonly execed_rss: number;
  readonly execed_vmsize: number;
  readonly hwm: number;
  readonly vmpeak: number;
  readonly maxrss: number;
  readonly cpu_s: number;
  readonly inblock: number;
  readonly oublock: number;
}

export interface Run {
  readonly truth: Truth;
  readonly watched: Watched;
}

const run = promisify(execFile);

/**
 * Runs a burner under the watcher, and again where the machine was too busy for the watcher to have seen a state
 * that was held for `held` ms. @throws if it fails, takes over 60 s, or does not write exactly one line of truth
 */
export async function runWatched(name: Burner, options: readonly string[], held = 200, tries = 20): Promise<Run> {
  const directory = temporaryDirectory();

  const file = join(directory, 'truth');
  const { stdout } = await run(burner('watch'), ['60', burner(name), ...options, `--truth=${file}`]);
  const watched = JSON.parse(stdout) as Watched;
  if (watched.late || watched.status !== 0) throw new Error(`${name} failed: ${stdout}`);
  const [truth, ...more] = readTruth(file);
  if (truth === undefined || more.length > 0) throw new Error(`${name} wrote ${more.length + (truth ? 1 : 0)} truths`);
  if (watched.longest_gap_ms < held / 2 || tries <= 1) return { truth, watched };

  return runWatched(name, options, held, tries - 1);
}
