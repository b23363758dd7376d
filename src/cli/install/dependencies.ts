import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../base/package-root';
import { checkJson, map, object, string, type ValueOf } from '../../base/shape';
import { UserError } from '../../base/user-error';
import { CommandError, EXIT } from '../command';

/** Needed to install a dependency, never to run it. */
const INSTALLERS = new Set(['prebuild-install', 'node-addon-api']);

const packages = map(string);
const manifest = object({ dependencies: packages, optionalDependencies: packages });

type Manifest = ValueOf<typeof manifest>;

function manifestOf(directory: string): Manifest {
  const path = join(directory, 'package.json');
  const found = checkJson(manifest, readFileSync(path, 'utf8'), path);
  if (!found.ok) throw new UserError(`${path}: ${found.error}`, { hint: `run "npm ci" in ${packageRoot()}` });
  return found.value;
}

/** Where `require(name)` in `from` finds its package, at `top` or below. */
function resolve(name: string, from: string, top: string): string | null {
  for (let directory = from; ; directory = dirname(directory)) {
    const candidate = join(directory, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
    if (directory === top || directory === dirname(directory)) return null;
  }
}

/**
 * Directories of every package needed at run time, directly or not, by the package in `top` or by those that `needs`
 * names; sorted. Optional ones (a native library for another architecture) may be missing; throws for any other.
 */
export function productionDependencies(top: string, needs = manifestOf(top)): readonly string[] {
  const found = new Set<string>();
  const visit = (directory: string, { dependencies, optionalDependencies }: Manifest): void => {
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (INSTALLERS.has(name)) continue;
      const place = resolve(name, directory, top);
      if (place === null) {
        if (name in optionalDependencies) continue;
        throw new CommandError(
          `${directory}: the package "${name}" that it needs is missing; run "npm ci" in ${top}`,
          EXIT.unavailable,
        );
      }
      if (found.has(place)) continue;
      found.add(place);
      visit(place, manifestOf(place));
    }
  };
  visit(top, needs);
  return [...found].sort();
}
