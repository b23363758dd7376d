import { DEFAULT_SETTINGS, loadSettings, type Settings } from '../../record/settings';

/** Where records are delivered to, and how. */
export type Destination = Pick<Settings, 'accounting' | 'accounting_mode' | 'accounting_credentials' | 'deliver_as'>;

/**
 * Where records go by the site's present configuration: a job may run for weeks, and its site may have moved to another
 * accounting DB meanwhile. `begun`: stands in where there is no such file. Throws SettingsError if the file can't be
 * used: records wait until it is fixed.
 */
export function destinationNow(path: string, begun: Destination): Destination {
  const now = loadSettings(path);
  // A file that is gone may be about to be replaced.
  return now === DEFAULT_SETTINGS ? begun : now;
}
