import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The nightly reports as they are kept, in one directory: `DAY.html` and `DAY.json`. */

const NAME = /^(\d{4}-\d\d-\d\d)\.(?:html|json)$/;

/** "2026-11-20"; null: the file is no report. */
export const dayOfReport = (name: string): string | null => NAME.exec(name)?.[1] ?? null;

/** The days of which there is a report, the latest first. Throws where the directory can't be read. */
export function keptDays(directory: string): readonly string[] {
  const days = new Set(readdirSync(directory).flatMap((name) => dayOfReport(name) ?? []));
  return [...days].toSorted().toReversed();
}

/** One of the files of a day. */
export function reportPath(directory: string, day: string, kind: 'html' | 'json'): string {
  return join(directory, `${day}.${kind}`);
}
