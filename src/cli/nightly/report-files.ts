import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../base/replace-file';

interface ReportFiles {
  readonly html: string;
  readonly json: string;
}

const NAME = /^(\d{4}-\d\d-\d\d)\.(?:html|json)$/;
/** Who may read the files may enter the directory. */
const directoryMode = (mode: number): number => 0o700 | mode | ((mode & 0o444) >> 2);

/** `DAY.html` and `DAY.json` in the directory of the reports, each whole or not at all. Throws. */
export function writeReport(directory: string, day: string, mode: number, files: ReportFiles): void {
  mkdirSync(directory, { recursive: true, mode: directoryMode(mode) });
  replaceFile(join(directory, `${day}.json`), files.json, mode);
  replaceFile(join(directory, `${day}.html`), files.html, mode);
}

/** Removes reports of days before that one; how many files. Throws. */
export function pruneReports(directory: string, oldest: string): number {
  const old = readdirSync(directory).filter((name) => (NAME.exec(name)?.[1] ?? oldest) < oldest);
  for (const name of old) rmSync(join(directory, name), { force: true });
  return old.length;
}
