import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The directory of qmemacct's own package.json, found upwards from this file. */
export function packageRoot(): string {
  for (let directory = __dirname; directory !== dirname(directory); directory = dirname(directory)) {
    try {
      const parsed: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
      if (typeof parsed === 'object' && parsed !== null && 'name' in parsed && parsed.name === 'qmemacct')
        return directory;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  throw new Error(`no package.json of qmemacct above ${__dirname}; install it again`);
}
