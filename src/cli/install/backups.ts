import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../base/error-code';
import { checkJson } from '../../base/shape';
import { reasonOf } from '../../base/user-error';
import { serialise } from '../../gridengine/configuration';
import type { Site } from '../../gridengine/site';
import { CommandError, EXIT } from '../command';
import { changeList, configurationsOf, targetName, type Change } from './hook-plan';

const CHANGES = 'changes.json';

/**
 * Saves the whole of each configuration that will be changed: `DIRECTORY/TIME/` holds the texts and `changes.json`.
 * Returns its path. Throws CommandError.
 */
export function backUp(directory: string, site: Site, changes: readonly Change[], now: Date): string {
  try {
    return writeTexts(directory, site, changes, now);
  } catch (error) {
    throw new CommandError(
      `${directory}: the old texts can't be kept there (${reasonOf(error)}); give --backup DIR`,
      EXIT.unavailable,
      { cause: error },
    );
  }
}

function writeTexts(directory: string, site: Site, changes: readonly Change[], now: Date): string {
  const place = join(directory, now.toISOString().replace(/[:.]/g, '-'));
  mkdirSync(place, { recursive: true, mode: 0o700 });
  const changed = new Set(changes.map(({ target }) => targetName(target)));
  for (const [target, configuration] of configurationsOf(site)) {
    const name = target.kind === 'global' ? 'global' : `${target.kind}.${target.name}`;
    if (changed.has(targetName(target))) writeFileSync(join(place, name), serialise(configuration), { mode: 0o600 });
  }
  writeFileSync(join(place, CHANGES), `${JSON.stringify(changes, null, 1)}\n`, { mode: 0o600 });
  return place;
}

function textIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null;
    throw error;
  }
}

/**
 * The changes recorded by backups in this directory, oldest first; empty if there is no such directory. Throws
 * CommandError if it can't be read: what was configured before would be lost.
 */
export function readHistory(directory: string): readonly Change[] {
  try {
    return readdirSync(directory)
      .sort()
      .flatMap((time) => {
        const path = join(directory, time, CHANGES);
        const text = textIfThere(path);
        // An incomplete file is from an installation that stopped before it changed anything.
        const changes = text === null ? null : checkJson(changeList, text, path);
        return changes?.ok === true ? changes.value : [];
      });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw new CommandError(
      `${directory}: the old texts can't be read (${reasonOf(error)}); run this as the user who installed, or give --backup DIR`,
      EXIT.unavailable,
      { cause: error },
    );
  }
}
