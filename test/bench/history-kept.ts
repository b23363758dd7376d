import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fillHistory, type History, type HistorySize, type Progress } from './history-fill';
import { siteWeek } from './history-week';

type Kept = Omit<History, 'week'> & { readonly size: number; readonly seed: number };

/**
 * The history of DIRECTORY, made and left there for the next time where there is none: a hundred million records take
 * an hour.
 */
export async function keptHistory(
  directory: string,
  wanted: HistorySize,
  until: number,
  seed: number,
  progress: Progress,
): Promise<History> {
  const manifest = join(directory, 'history.json');
  if (existsSync(manifest)) {
    const { size: itsSize, seed: itsSeed, ...kept } = JSON.parse(readFileSync(manifest, 'utf8')) as Kept;
    if (itsSize !== wanted.records || itsSeed !== seed || (wanted.weeks ?? kept.weeks) !== kept.weeks)
      throw new Error(
        `${directory} keeps a history of ${itsSize} records in ${kept.weeks} weeks: ask for as many, or for another directory`,
      );
    return { ...kept, week: siteWeek(seed, Math.round(itsSize / kept.weeks), kept.since) };
  }
  mkdirSync(directory, { recursive: true });
  if (existsSync(join(directory, 'accounting.db')))
    throw new Error(`${directory} has an accounting.db without history.json: remove it`);
  const { week, ...made } = await fillHistory(directory, wanted, until, seed, progress);
  writeFileSync(manifest, `${JSON.stringify({ ...made, size: wanted.records, seed })}\n`);
  return { ...made, week };
}
