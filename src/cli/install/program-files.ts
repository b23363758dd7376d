import { existsSync, readdirSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { CommandError, EXIT } from '../command';
import { productionDependencies } from './dependencies';

/** Of a dependency only this is used at run time; native ones bring their sources and object files along. */
const USED = /\.(?:js|cjs|mjs|json|node)$|^(?:LICENSE|LICENCE|COPYING)/i;
/** The same library for browsers, and its tests. */
const UNUSED = /\/h5wasm\/(?:dist\/(?:esm|iife)|src|test)\//;
const UNUSED_DIRECTORIES = new Set(['node_modules', 'obj', 'obj.target', '.deps', '.bin']);

function filesBelow(directory: string, wanted: (name: string) => boolean, skip: ReadonlySet<string>): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return skip.has(entry.name) ? [] : filesBelow(path, wanted, skip);
    return entry.isFile() && wanted(entry.name) ? [path] : [];
  });
}

/** The same module twice: the program is CommonJS, and its `require` takes the `.cjs` one. */
function isEsmTwin(path: string): boolean {
  return path.endsWith('.js') && existsSync(`${path.slice(0, -'.js'.length)}.cjs`);
}

/**
 * What an installation consists of, as sorted paths relative to `root`: the built program, hooks, migrations and the
 * packages that it needs at run time. Throws when something is missing.
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
