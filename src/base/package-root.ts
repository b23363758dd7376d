import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkJson, object, string } from './shape';
import { UserError } from './user-error';

let found: string | null = null;

/** The nearest directory above this file that holds package.json, bin, hooks, sql and dist. */
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

const manifest = object({ version: string });

/** The version in the package.json of an installation, or of this one. Throws UserError. */
export function packageVersion(root = packageRoot()): string {
  const path = join(root, 'package.json');
  const read = checkJson(manifest, readFileSync(path, 'utf8'), path);
  if (!read.ok) throw new UserError(`${path}: ${read.error}`, { hint: 'reinstall qmemacct' });
  return read.value.version;
}
