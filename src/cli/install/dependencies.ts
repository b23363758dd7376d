import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CommandError, EXIT } from '../command';

/** Needed to install a dependency, never to run it. */
const INSTALLERS = new Set(['prebuild-install', 'node-addon-api']);

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function manifestOf(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
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
 * Directories of every package that the one in `top` needs at run time, sorted. Optional ones (a native library for
 * another architecture) may be missing; throws for any other.
 */
export function productionDependencies(top: string): readonly string[] {
  const found = new Set<string>();
  const visit = (directory: string): void => {
    const { dependencies = {}, optionalDependencies = {} } = manifestOf(directory);
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
      visit(place);
    }
  };
  visit(top);
  return [...found].sort();
}
