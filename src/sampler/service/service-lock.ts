import { closeSync, existsSync, fstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { lockFile } from '../../native/libc';
import type { Settings } from '../../record/settings';
import { bootId } from '../../sources/proc/clock';
import { livingPidFile, writePidFile } from '../job/pid-file';

/** Where the service of this host holds its `lock` and writes its `pid` (as in a run directory): hooks look there. */
export function serviceDirectory(settings: Pick<Settings, 'run_dir'>): string {
  return join(settings.run_dir, 'service');
}

/** Pid of the service of this host; null: none runs. */
export function servicePid(settings: Pick<Settings, 'run_dir'>): number | null {
  const values = livingPidFile(serviceDirectory(settings));
  return values === null ? null : Number(values.get('pid'));
}

/** The right to be the service of this host, which one process has at a time. */
export class ServiceLock {
  private lock: number | null = null;
  private announced = false;

  private constructor(private readonly directory: string) {}

  /** null: another process has it. Throws where the lock can't be made. */
  static take(settings: Pick<Settings, 'run_dir'>): ServiceLock | null {
    const place = new ServiceLock(serviceDirectory(settings));
    return place.hold() ? place : null;
  }

  /** Shows the hooks that this service runs, again if somebody has removed the directory. false: another one has it. */
  announce(): boolean {
    if (!this.hold()) return false;
    if (!this.announced || !existsSync(join(this.directory, 'pid'))) writePidFile(this.directory, bootId());
    this.announced = true;
    return true;
  }

  private hold(): boolean {
    if (this.lock !== null && fstatSync(this.lock).nlink > 0) return true;
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    const lock = lockFile(join(this.directory, 'lock'));
    if (lock === null) return false;
    if (this.lock !== null) closeSync(this.lock);
    this.lock = lock;
    return true;
  }
}
