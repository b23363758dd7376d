import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const DEFAULT_PREFIX = '/opt/qmemacct';

/** Directories in which the operating system looks for our files. */
export interface SystemPlaces {
  /** For unit files; null: systemd does not run here. */
  readonly units: string | null;
  /** For cron files; null: systemd runs, or there is no /etc/cron.d. */
  readonly cron: string | null;
  /** For lists of directories to make at each boot (tmpfiles.d(5)); null: there is none. */
  readonly tmpfiles: string | null;
  /** For commands, in everyone's PATH; null: there is none. */
  readonly commands: string | null;
}

const ifThere = (directory: string, sign = directory): string | null => (existsSync(sign) ? directory : null);

export function systemPlaces(): SystemPlaces {
  const units = ifThere('/etc/systemd/system', '/run/systemd/system');
  return {
    units,
    cron: units === null ? ifThere('/etc/cron.d') : null,
    tmpfiles: ifThere('/etc/tmpfiles.d') ?? ifThere('/usr/lib/tmpfiles.d'),
    commands: ifThere('/usr/local/bin'),
  };
}

/** The hooks' path for Grid Engine's configuration; upgrades switch the link `current`, so the path stays the same. */
export function hookDirectory(prefix: string): string {
  return join(prefix, 'current', 'hooks');
}

export function commandPath(prefix: string): string {
  return join(prefix, 'current', 'bin', 'qmemacct');
}
