import { accessSync, statSync } from 'node:fs';

/** Differs once a file has changed, come or gone; the error's code where it can't be looked at: "ENOENT". */
export function fileState(path: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(':');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}

/** Whether the caller is allowed what `mode` says (constants.R_OK ...): of what is not there nobody is. */
export function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
