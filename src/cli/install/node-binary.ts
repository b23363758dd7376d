import { realpathSync } from 'node:fs';
import { untrusted } from '../../base/trusted-path';
import { inHome, networkFilesystemOf } from './local-path';

/** Which Node the hooks start. */
export interface NodeBinary {
  readonly path: string;
  /** Why it is copied into the installation; null: used where it is. */
  readonly copyReason: string | null;
}

/** A root hook may only start what root alone can change, and what is there without a network or somebody's home. */
export function chooseNode(execPath: string): NodeBinary {
  const path = realpathSync(execPath);
  const network = networkFilesystemOf(path);
  const copyReason =
    untrusted(path) ?? (network !== null ? `${network} file system` : inHome(path) ? 'in a home directory' : null);
  return { path, copyReason };
}
