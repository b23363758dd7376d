import { accessSync, statSync } from 'node:fs';

/** A text that differs once a file has changed, come or gone; if stat fails, the error's code ("ENOENT"). */
export function fileState(path: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(':');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}

/** Whether the caller has the access `mode` (constants.R_OK ...); false for a file that does not exist. */
export function isPermitted(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
