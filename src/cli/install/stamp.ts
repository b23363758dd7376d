import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../base/replace-file';

/** STATE/installed: what the last `install --node` or `doctor --self-test` on this host found. */
export interface Stamp {
  readonly prefix: string;
  /** VERSION-BUILD that was tested. */
  readonly version: string;
  /** ISO 8601, UTC. */
  readonly tested_at: string;
  readonly ok: boolean;
  readonly problems: readonly string[];
}

const FILE = 'installed';

export function writeStamp(stateDir: string, stamp: Stamp): void {
  replaceFile(join(stateDir, FILE), `${JSON.stringify(stamp)}\n`, 0o644);
}

/** What is not installed has not been tested. */
export function removeStamp(stateDir: string): void {
  rmSync(join(stateDir, FILE), { force: true });
}

/** null: never installed here. */
export function readStamp(stateDir: string): Stamp | null {
  try {
    const stamp = JSON.parse(readFileSync(join(stateDir, FILE), 'utf8')) as Partial<Stamp>;
    if (typeof stamp.prefix !== 'string' || typeof stamp.version !== 'string') return null;
    return {
      prefix: stamp.prefix,
      version: stamp.version,
      tested_at: String(stamp.tested_at),
      ok: stamp.ok === true,
      problems: Array.isArray(stamp.problems) ? stamp.problems.map(String) : [],
    };
  } catch {
    return null;
  }
}
