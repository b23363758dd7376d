import { join } from 'node:path';
import { loadSettings, type Settings } from '../../record/settings';
import type { HookConf } from '../install/hook-conf';
import { readStamp, type Stamp } from '../install/stamp';
import { readHookConf } from '../install/pass-through';
import { currentVersion } from '../install/versions';

/** The settings and the installation that the checks of this node look at. */
export interface NodeState {
  readonly settings: Settings;
  readonly settingsPath: string;
  readonly prefix: string;
  /** Version that PREFIX/current names; null: not installed here. */
  readonly version: string | null;
  readonly conf: HookConf | null;
  readonly stamp: Stamp | null;
  readonly isRoot: boolean;
}

/** Throws SettingsError. `prefix` null: that of the last self-test's stamp, else `usual`. */
export function readNodeState(settingsPath: string, prefix: string | null, usual: string): NodeState {
  const settings = loadSettings(settingsPath);
  const stamp = readStamp(settings.state_dir);
  const place = prefix ?? stamp?.prefix ?? usual;
  const version = currentVersion(place);
  return {
    settings,
    settingsPath,
    prefix: place,
    version,
    conf: version === null ? null : readHookConf(join(place, version)),
    stamp,
    isRoot: process.getuid?.() === 0,
  };
}
