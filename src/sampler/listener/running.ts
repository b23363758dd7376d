import { listenerPaths } from './directory';
import { createHash } from 'node:crypto';
import { livingPidFile } from '../job/pid-file';
import type { Settings } from '../../record/settings';

/** What the listener of this node has written of itself into RUN_DIR/listener/pid. */
interface RunningListener {
  readonly pid: number;
  /** `settingsDigest` of the settings that it was started with. */
  readonly settings: string;
}

/** A short word that changes when any setting does. */
export function settingsDigest(settings: Settings): string {
  const text = JSON.stringify(settings, (_, value: unknown) => (value === Infinity ? 'inf' : value));
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** null: none runs, or this user may not look. */
export function runningListener(settings: Pick<Settings, 'run_dir'>): RunningListener | null {
  const values = livingPidFile(listenerPaths(settings).directory);
  return values === null ? null : { pid: Number(values.get('pid')), settings: values.get('settings') ?? '' };
}
