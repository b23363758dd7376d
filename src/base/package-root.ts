import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

let found: string | null = null;

/** Directory that holds package.json, bin, hooks, sql and dist: the nearest one above this file. */
export function packageRoot(): string {
  if (found !== null) return found;
  let directory = __dirname;
  while (!(existsSync(join(directory, 'package.json')) && existsSync(join(directory, 'sql')))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error(`${__dirname}: no qmemacct installation around it; reinstall`);
    directory = parent;
  }
  found = directory;
  return directory;
}
