import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import type { Settings } from '../../record/settings';
import type { Request } from './protocol';
import { listenerPaths } from './socket-path';

const WITHIN_MS = 1000;

/**
 * Asks the node's listener to make way for another one: it gives up its place, and ends as soon as the samplers that it
 * has are gone. Resolves when it has been asked, or none runs.
 */
export function retireListener(settings: Pick<Settings, 'run_dir'>): Promise<void> {
  const { socket: path } = listenerPaths(settings);
  if (!existsSync(path)) return Promise.resolve();
  return new Promise((resolve) => {
    const socket = connect(path);
    const timer = setTimeout(() => socket.destroy(), WITHIN_MS);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve();
    });
    const request: Request = { kind: 'retire' };
    // The listener says hello first; what it says is nothing to us.
    socket.resume();
    socket.end(`${JSON.stringify(request)}\n`);
  });
}
