import { join } from 'node:path';
import type { Settings } from '../../record/settings';

/** RUN_DIR/listener: the socket, and the lock that the one listener of this node holds. */
export function listenerPaths({ run_dir: runDirectory }: Pick<Settings, 'run_dir'>): {
  readonly directory: string;
  readonly socket: string;
  readonly lock: string;
} {
  const directory = join(runDirectory, 'listener');
  return { directory, socket: join(directory, 'socket'), lock: join(directory, 'lock') };
}
