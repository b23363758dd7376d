import { accessSync, statSync } from 'node:fs';
import { codeOf } from './error-code';

/** A text that differs once a file has changed, come or gone; if stat fails, the error's code ("ENOENT"). */
export function fileState(path: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(':');
  } catch (error) {
    return codeOf(error) || 'unknown';
  }
}

/** Why the caller does not have the access `mode` (constants.R_OK ...): an errno ("EACCES"); null: it has. */
export function accessFault(path: string, mode: number): string | null {
  try {
    accessSync(path, mode);
    return null;
  } catch (error) {
    return codeOf(error) || 'unknown';
  }
}

/** Whether the caller has the access `mode`; false for a file that does not exist. */
export const isPermitted = (path: string, mode: number): boolean => accessFault(path, mode) === null;
