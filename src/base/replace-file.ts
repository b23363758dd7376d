import { renameSync, rmSync, writeFileSync } from 'node:fs';

/** Writes a file under another name first, so that a reader sees either the old or the new text. */
export function replaceFile(path: string, text: string, mode: number): void {
  const temporary = `${path}.${process.pid}.new`;
  try {
    writeFileSync(temporary, text, { mode, flag: 'w' });
    renameSync(temporary, path);
  } catch (error) {
    // On a full disk the temporary file would take up what space is left.
    rmSync(temporary, { force: true });
    throw error;
  }
}
