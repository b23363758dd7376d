import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkJson } from '../../base/shape';
import { serialise } from '../../gridengine/configuration';
import type { Site } from '../../gridengine/site';
import { byTarget, changeList, type Change } from './hook-plan';

const CHANGES = 'changes.json';

/** Keeps what is going to be changed, whole: `DIRECTORY/TIME/` holds the texts and `changes.json`. Returns its path. */
export function backUp(directory: string, site: Site, changes: readonly Change[], now: Date): string {
  const place = join(directory, now.toISOString().replace(/[:.]/g, '-'));
  mkdirSync(place, { recursive: true, mode: 0o700 });
  for (const [target] of byTarget(changes)) {
    const configuration =
      target.kind === 'global'
        ? site.global
        : target.kind === 'host'
          ? site.locals.get(target.name)
          : site.queues.get(target.name)?.configuration;
    const name = target.kind === 'global' ? 'global' : `${target.kind}.${target.name}`;
    if (configuration !== undefined) writeFileSync(join(place, name), serialise(configuration), { mode: 0o600 });
  }
  writeFileSync(join(place, CHANGES), `${JSON.stringify(changes, null, 1)}\n`, { mode: 0o600 });
  return place;
}

/** Changes that were made with backups in this directory, oldest first; none where there is no such directory. */
export function readHistory(directory: string): readonly Change[] {
  let times: readonly string[];
  try {
    times = readdirSync(directory).sort();
  } catch {
    return [];
  }
  return times.flatMap((time) => {
    const path = join(directory, time, CHANGES);
    const changes = existsSync(path) ? checkJson(changeList, readFileSync(path, 'utf8'), path) : null;
    return changes?.ok === true ? changes.value : [];
  });
}
