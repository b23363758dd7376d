import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { Step } from './steps';
import { fileSteps, removeFiles } from './system-files';

/** Files for systemd and cron that an admin may change: upgrades then leave them alone. */

/** Whether a file is an admin's own, or one of ours that an admin has changed. */
function isChanged(path: string): boolean {
  return existsSync(path) && !isAsWritten(readFileSync(path, 'utf8'));
}

function leave(path: string, fix: string): Step {
  return { says: `leave ${path}`, apply: () => `${path}: was changed on this host, and stays; ${fix}` };
}

/** Writes a file, unless an admin's or a changed one is there. */
export function writeSteps(path: string, text: string): Step[] {
  return isChanged(path) ? [] : fileSteps(path, withSum(text));
}

/** Only warns that changed files stay as they are. */
export function leaveSteps(paths: readonly string[]): Step[] {
  return paths.filter(isChanged).map((path) => leave(path, 'remove it and install again to get the new one'));
}

/** Removes files except changed ones, which stay with a warning. */
export function removeSteps(paths: readonly string[]): Step[] {
  const there = paths.filter((path) => existsSync(path));
  return [
    ...removeFiles(there.filter((path) => !isChanged(path))),
    ...there.filter(isChanged).map((path) => leave(path, 'without the program it does nothing; remove it by hand')),
  ];
}

const SUM_LINE = /^# Sum of the lines above: ([0-9a-f]{16})\b.*\n$/m;

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Adds to a text of whole lines, with "#" for comments, a last line that shows whether the text was changed since. */
export function withSum(text: string): string {
  return `${text}# Sum of the lines above: ${sumOf(text)}. Where it is not, this file was changed: upgrades leave it alone.\n`;
}

/** Whether a text was made by `withSum` and is unchanged. */
export function isAsWritten(text: string): boolean {
  const found = SUM_LINE.exec(text);
  return (
    found !== null && found.index + found[0].length === text.length && found[1] === sumOf(text.slice(0, found.index))
  );
}
