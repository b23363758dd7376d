import { renameSync, writeFileSync } from 'node:fs';

/** Writes a whole file under another name first, so that a reader sees the old or the new text. */
export function replaceFile(path: string, text: string, mode: number): void {
  const temporary = `${path}.${process.pid}.new`;
  writeFileSync(temporary, text, { mode, flag: 'w' });
  renameSync(temporary, path);
}
