import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { userName } from '../base/user-name';

/**
 * Owner of a job, from the kernel instead of `config`: the shepherd gives `trace` to the job's owner.
 * null when that file is missing or still Grid Engine's own.
 */
export function ownerOfSpool(spool: string): string | null {
  try {
    const directory = lstatSync(spool).uid;
    for (const name of ['trace', 'error', 'exit_status']) {
      const uid = lstatSync(join(spool, name)).uid;
      if (uid !== directory && uid !== 0) return userName(uid);
    }
  } catch {
    return null;
  }
  return null;
}
