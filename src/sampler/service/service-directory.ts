import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bootId } from '../../sources/proc/clock';
import { keyValues, startTicksOf } from '../run-directory';
import type { Settings } from '../settings';

/** Where the service of this host holds its `lock` and writes its `pid` (as in a run directory): hooks look there. */
export function serviceDirectory(settings: Pick<Settings, 'run_dir'>): string {
  return join(settings.run_dir, 'service');
}

/** Pid of the service of this host; null: none runs. */
export function servicePid(settings: Pick<Settings, 'run_dir'>): number | null {
  try {
    const values = keyValues(readFileSync(join(serviceDirectory(settings), 'pid'), 'utf8'));
    const pid = Number(values.get('pid'));
    const lives = values.get('boot') === bootId() && startTicksOf(pid) === Number(values.get('start'));
    return lives ? pid : null;
  } catch {
    return null;
  }
}
