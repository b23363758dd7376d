import { accessSync, constants } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { NodeReader } from '../sampler/node-store/node-reader';
import { CommandError, EXIT } from './command-error';

/** node.db of this host, or why it can't be read, with its mend. */
export type NodeDatabase =
  { readonly reader: NodeReader } | { readonly problem: string; readonly reason: 'absent' | 'forbidden' | 'unusable' };

/** Opens node.db in a state directory for reading; never throws. */
export async function openNodeDatabase(stateDirectory: string): Promise<NodeDatabase> {
  const path = join(stateDirectory, 'node.db');
  try {
    accessSync(path, constants.R_OK);
    const { openNodeReader } = await import('../sampler/node-store/node-reader.js');
    return { reader: openNodeReader(stateDirectory) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM')
      return { reason: 'forbidden', problem: `${path} of ${hostname()} is for root alone: use sudo` };
    if (code === 'ENOENT' || code === 'ENOTDIR')
      return {
        reason: 'absent',
        problem: `${path} does not exist on ${hostname()}: it comes with the first job there ("qmemacct doctor" checks the hooks)`,
      };
    return { reason: 'unusable', problem: `${path} can't be read: ${message}` };
  }
}

/** The reader, or a CommandError (3) with the problem. */
export function requireReader(database: NodeDatabase): NodeReader {
  if ('reader' in database) return database.reader;
  throw new CommandError(database.problem, EXIT.unavailable);
}
