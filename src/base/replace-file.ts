import { renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Writes a file under another name first, so that a reader sees either the old or the new text. No link of another user,
 * who may own the directory, is followed.
 */
export function replaceFile(path: string, text: string, mode: number): void {
  const temporary = `${path}.${process.pid}.new`;
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, text, { mode, flag: 'wx' });
    renameSync(temporary, path);
  } catch (error) {
    // On a full disk the temporary file would take up what space is left.
    rmSync(temporary, { force: true });
    throw error;
  }
}
