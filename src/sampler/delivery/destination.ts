import { DEFAULT_SETTINGS, loadSettings, type Settings } from '../../record/settings';

/** Where records are delivered to, and how. */
export type Destination = Pick<Settings, 'accounting' | 'accounting_mode' | 'accounting_credentials' | 'deliver_as'>;

/**
 * Where the site's configuration says now that records go: a job may run for weeks, and its site may have moved to
 * another accounting DB meanwhile. `begun`: what stands in where there is no such file. Throws SettingsError for one that
 * can't be used: what is to be delivered waits until it is fixed.
 */
export function destinationNow(path: string, begun: Destination): Destination {
  const now = loadSettings(path);
  // A file that is gone may be about to be replaced.
  return now === DEFAULT_SETTINGS ? begun : now;
}
