import { existsSync, readdirSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { CommandError, EXIT } from '../command';
import { productionDependencies } from './dependencies';

/** The files of a dependency that are used at run time; native ones bring sources and object files along. */
const USED = /\.(?:js|cjs|mjs|json|node)$|^(?:LICENSE|LICENCE|COPYING)/i;
/** h5wasm's builds for browsers, its sources and its tests. */
const UNUSED = /\/h5wasm\/(?:dist\/(?:esm|iife)|src|test)\//;
const UNUSED_DIRECTORIES = new Set(['node_modules', 'obj', 'obj.target', '.deps', '.bin']);

function filesBelow(directory: string, wanted: (name: string) => boolean, skip: ReadonlySet<string>): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return skip.has(entry.name) ? [] : filesBelow(path, wanted, skip);
    return entry.isFile() && wanted(entry.name) ? [path] : [];
  });
}

/** Whether the module is there as `.cjs`, too, which `require` takes, as the program is CommonJS. */
function isEsmTwin(path: string): boolean {
  return path.endsWith('.js') && existsSync(`${path.slice(0, -'.js'.length)}.cjs`);
}

/**
 * The files of an installation, as sorted paths relative to `root`: the built program, hooks, migrations and the
 * packages needed at run time. Throws CommandError if something is missing.
 */
export function programFiles(root: string): readonly string[] {
  if (!existsSync(join(root, 'dist', 'src', 'sampler', 'main.js')))
    throw new CommandError(
      `${root}: not built yet; unpack a release, or run "npm ci --ignore-scripts && npm run native && npm run build" there`,
      EXIT.unavailable,
    );
  const nothing = new Set<string>();
  const files = [
    ...['package.json', 'LICENSE', 'README.md'].map((name) => join(root, name)).filter((path) => existsSync(path)),
    ...filesBelow(join(root, 'dist', 'src'), (name) => /\.(?:js|cache)$/.test(name), nothing),
    // hook.conf is written for each installation.
    ...filesBelow(join(root, 'hooks'), (name) => name !== 'hook.conf', nothing),
    ...filesBelow(join(root, 'sql'), (name) => name.endsWith('.sql'), nothing),
    ...productionDependencies(root).flatMap((place) =>
      filesBelow(place, (name) => USED.test(name), UNUSED_DIRECTORIES).filter(
        (path) => !basename(path).startsWith('test_') && !UNUSED.test(path) && !isEsmTwin(path),
      ),
    ),
  ];
  return files.map((path) => relative(root, path)).sort();
}
