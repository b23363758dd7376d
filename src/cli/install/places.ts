import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const DEFAULT_PREFIX = '/opt/qmemacct';

/** Where the operating system wants things. */
export interface SystemPlaces {
  /** Unit files; null: systemd does not run here. */
  readonly units: string | null;
  /** Cron fragments; null: none here. */
  readonly cron: string | null;
  /** Directories to make anew at each boot; null: nobody would. */
  readonly tmpfiles: string | null;
  /** Where everyone's PATH finds commands. */
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

/** The path that Grid Engine is given: a link in it is switched, so that the value stays the same over upgrades. */
export function hookDirectory(prefix: string): string {
  return join(prefix, 'current', 'hooks');
}

export function commandPath(prefix: string): string {
  return join(prefix, 'current', 'bin', 'qmemacct');
}
