import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../base/replace-file';
import { boolean, checkJson, list, object, string, type ValueOf } from '../../base/shape';
import { reasonOf, UserError } from '../../base/user-error';
import { hostInCell } from '../../gridengine/own-host';
import type { Settings } from '../../record/settings';
import { STAMP_FILE } from '../../sampler/delivery/node-status';
import { readText } from '../../sources/files';

/** STATE/installed: what the last `install --node` or `doctor --self-test` on this host found. */
const stampShape = object({
  prefix: string,
  /** The VERSION-BUILD that was tested. */
  version: string,
  /** ISO 8601, UTC. */
  tested_at: string,
  ok: boolean,
  problems: list(string),
  /** Names of what the installation set up to be started by itself (services.ts). */
  services: list(string),
  /** Grid Engine's name of this host, which heartbeats have, too. */
  host: string,
});
export type Stamp = ValueOf<typeof stampShape>;

/** Writes down the result of an installation's self-test. Throws UserError. */
export function writeStamp(
  { state_dir: stateDir, cell }: Pick<Settings, 'state_dir' | 'cell'>,
  installed: Pick<Stamp, 'prefix' | 'version' | 'services'>,
  { ok, problems }: Pick<Stamp, 'ok' | 'problems'>,
  now = new Date(),
): void {
  const stamp: Stamp = { ...installed, tested_at: now.toISOString(), ok, problems, host: hostInCell(cell) };
  try {
    replaceFile(join(stateDir, STAMP_FILE), `${JSON.stringify(stamp)}\n`, 0o644);
  } catch (error) {
    throw new UserError(`${stateDir}: what the self-test found can't be noted there: ${reasonOf(error)}`, {
      hint: 'let root write there, or make room, then run "qmemacct doctor --self-test"',
      cause: error,
    });
  }
}

/** Removes the stamp, as an uninstalled program counts as untested. */
export function removeStamp(stateDir: string): void {
  rmSync(join(stateDir, STAMP_FILE), { force: true });
}

/** null: not tested here, or the stamp is unreadable. */
export function readStamp(stateDir: string): Stamp | null {
  const stamp = checkJson(stampShape, readText(join(stateDir, STAMP_FILE)) ?? '', 'the stamp');
  return stamp.ok ? stamp.value : null;
}
