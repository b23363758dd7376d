import { join } from 'node:path';
import { livingPidFile } from '../job/run-directory';
import type { Settings } from '../../record/settings';

/** Where the service of this host holds its `lock` and writes its `pid` (as in a run directory): hooks look there. */
export function serviceDirectory(settings: Pick<Settings, 'run_dir'>): string {
  return join(settings.run_dir, 'service');
}

/** Pid of the service of this host; null: none runs. */
export function servicePid(settings: Pick<Settings, 'run_dir'>): number | null {
  const values = livingPidFile(serviceDirectory(settings));
  return values === null ? null : Number(values.get('pid'));
}
