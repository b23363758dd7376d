import { existsSync, readFileSync } from 'node:fs';
import * as path from 'node:path';

/** Top directory of the project's checkout, wherever the compiled tests lie. Throws when run outside of it. */
export function repositoryRoot(): string {
  for (const start of [process.cwd(), __dirname]) {
    for (let directory = start; ; directory = path.dirname(directory)) {
      if (isRoot(directory)) return directory;
      if (directory === path.dirname(directory)) break;
    }
  }
  throw new Error(`no package.json of qmemacct above ${process.cwd()}: run the tests in the project's checkout`);
}

function isRoot(directory: string): boolean {
  const file = path.join(directory, 'package.json');
  if (!existsSync(file)) return false;
  const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'name' in manifest && manifest.name === 'qmemacct';
}
